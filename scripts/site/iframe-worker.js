// Search in a site that is opened as a file: browsers start no worker there, so what the worker would run
// runs in a hidden frame. The name is the one that keeps the site's builder from loading one of its own
// over the network.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.onmessage = this.onerror = null;
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.body.append(this.frame);
      const inside = this.frame.contentWindow;
      inside.postMessage = (data) => this.tell(new MessageEvent("message", { data }));
      inside.importScripts = (...urls) => urls.forEach((one) => this.load(one));
      this.ready = this.load(url);
      this.ready.catch((error) => this.tell(new ErrorEvent("error", { error })));
    }

    load(url) {
      const script = this.frame.contentDocument.createElement("script");
      script.src = url;
      this.frame.contentDocument.body.append(script);
      return new Promise((done, failed) => {
        script.onload = done;
        script.onerror = failed;
      });
    }

    tell(event) {
      this.dispatchEvent(event);
      this[`on${event.type}`]?.(event);
    }

    postMessage(data) {
      this.ready.then(() => {
        const event = new MessageEvent("message", { data: structuredClone(data) });
        this.frame.contentWindow.dispatchEvent(event);
      }, () => {});
    }

    terminate() {
      this.frame.remove();
    }
  };
}
