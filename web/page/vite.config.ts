import { defineConfig } from "vitest/config";
import { oneFile } from "./one-file.ts";

export default defineConfig({
  plugins: [oneFile("page.html", ["preact", "uplot"])],
  build: {
    target: "es2022",
    outDir: "../../crates/product/webrtc/src",
    emptyOutDir: false,
    // Styles that a script adds are refused by the host's policy.
    cssCodeSplit: false,
    // A classic script in a function: no name of it is the window's.
    rolldownOptions: { output: { format: "iife" } },
    modulePreload: { polyfill: false },
    copyPublicDir: false,
  },
  worker: { format: "iife" },
  test: { include: ["src/**/*.test.ts"] },
});
