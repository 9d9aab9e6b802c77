"""Chat platforms: who may write, one session a conversation, answers that arrive once.

A message goes ``inbox`` (authorised, committed) -> ``workers`` (one turn after the other in a
conversation) -> ``delivery`` (split, paced, repeated until there is a receipt). ``supervisor`` keeps
platforms running, ``gateway`` puts it together.
"""
