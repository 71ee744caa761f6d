// Sees each encoded frame before it is decoded, with the time at which its last packet came.
import { seen, type TransformEvent } from "./encoded";

Object.assign(globalThis, {
  onrtctransform: async ({ transformer }: TransformEvent) => {
    postMessage({ ready: true });
    const reader = transformer.readable.getReader();
    const writer = transformer.writable.getWriter();
    for (;;) {
      const { done, value: frame } = await reader.read();
      if (done) return;
      postMessage(seen(frame));
      await writer.write(frame);
    }
  },
});
