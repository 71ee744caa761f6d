import { defineConfig } from "vitest/config";
import { oneFile } from "./one-file.ts";

// Each page is built by itself, for the crate that serves it: `vite build`, and `vite build --mode gateway`.
const PAGES = {
  play: { entry: "index.html", crate: "webrtc" },
  gateway: { entry: "gateway.html", crate: "router" },
};

export default defineConfig(({ mode }) => {
  const { entry, crate } = PAGES[mode === "gateway" ? "gateway" : "play"];
  return {
    plugins: [oneFile("page.html", ["preact", "uplot"])],
    build: {
      target: "es2022",
      outDir: `../../crates/product/${crate}/src`,
      emptyOutDir: false,
      // Styles that a script adds are refused by the host's policy.
      cssCodeSplit: false,
      // A classic script in a function: no name of it is the window's.
      rolldownOptions: { input: entry, output: { format: "iife" } },
      modulePreload: { polyfill: false },
      copyPublicDir: false,
    },
    worker: { format: "iife" },
    // One process for all files: to start one for each took four times as long, and beside compilers longer than Vitest waits for it.
    test: { include: ["src/**/*.test.ts"], isolate: false, maxWorkers: 1, testTimeout: 60_000 },
  };
});
