// The theme searches in a Worker, which browsers do not start for pages opened from a file. There a
// hidden frame stands for it: it loads the worker's script and passes messages as a Worker does.
if (location.protocol === "file:") {
  window.IFrameWorker = class extends EventTarget {
    constructor(url) {
      super();
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      this.waiting = [];
      document.documentElement.appendChild(this.frame);
      const inside = this.frame.contentWindow;
      inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      inside.importScripts = (...scripts) =>
        scripts.reduce((before, script) => before.then(() => loaded(inside, script)), Promise.resolve());
      loaded(inside, url).then(() => {
        this.waiting.forEach((data) => this.receive(data));
        this.waiting = null;
      });
    }
    postMessage(data) {
      if (this.waiting) this.waiting.push(data);
      else this.receive(data);
    }
    receive(data) {
      const inside = this.frame.contentWindow;
      inside.dispatchEvent(new inside.MessageEvent("message", { data }));
    }
    terminate() {
      this.frame.remove();
    }
  };
  window.Worker = window.IFrameWorker;

  function loaded(inside, url) {
    return new Promise((done, failed) => {
      const script = inside.document.createElement("script");
      script.src = url;
      script.onload = done;
      script.onerror = failed;
      inside.document.body.appendChild(script);
    });
  }
}
