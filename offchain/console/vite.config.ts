import { defineConfig } from "vite";

export default defineConfig({
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: {
    target: "es2022",
    cssTarget: ["chrome123", "firefox120", "safari17.5"],
    outDir: "../gateway/console",
    emptyOutDir: true,
    // The gateway's content security policy allows no data: scripts and fonts, and a file is as quick.
    assetsInlineLimit: 0,
    license: { fileName: "licenses.md" },
    modulePreload: { polyfill: false },
  },
  server: { proxy: { "/v1": process.env["GANTRY_API"] ?? "http://127.0.0.1:8080" } },
});
