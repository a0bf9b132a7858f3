import { defineConfig, type Plugin } from "vite";

/** What xterm.js does against the console's policy for styles, and what it does instead (docs/adr/0106). */
const INLINE_STYLES = [
  { wanted: 3, from: 'createElement("style")', to: 'createElement("gantry-style")' },
  {
    wanted: 1,
    from: 't.setAttribute("style",`${t.getAttribute("style")||""}${e};`)',
    to: "t.style.cssText+=`${e};`",
  },
] as const;

/** Replaces the inline styles of xterm.js. Fails where another version of it has other ones. */
function withoutInlineStyles(): Plugin {
  return {
    name: "xterm-without-inline-styles",
    transform(code, id) {
      if (!id.endsWith("/@xterm/xterm/lib/xterm.mjs")) return null;
      let changed = code;
      for (const { wanted, from, to } of INLINE_STYLES) {
        const found = changed.split(from).length - 1;
        if (found !== wanted) throw new Error(`xterm.js has ${found} places with ${from}; ${wanted} were expected.`);
        changed = changed.replaceAll(from, to);
      }
      if (/setAttribute\("style"|createElement\("style"/.test(changed)) throw new Error("xterm.js has inline styles.");
      return { code: changed, map: null };
    },
  };
}

export default defineConfig({
  plugins: [withoutInlineStyles()],
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
  server: {
    proxy: {
      "/v1": process.env["GANTRY_API"] ?? "http://127.0.0.1:8080",
      "/v1/relay": { target: process.env["GANTRY_API"] ?? "http://127.0.0.1:8080", ws: true },
    },
  },
});
