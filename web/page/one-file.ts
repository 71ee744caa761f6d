// The page as one document: script and style are inside, so that a host serves nothing else and the page needs no network.
import { readFileSync } from "node:fs";
import type { Plugin, Rolldown } from "vite";

type Bundle = Rolldown.OutputBundle;

// What is taken in wants its licence beside it.
function licences(packages: string[]): string {
  const texts = packages.map((name) => {
    const { version } = JSON.parse(readFileSync(`node_modules/${name}/package.json`, "utf-8"));
    return `This page contains ${name} ${version}:\n\n${readFileSync(`node_modules/${name}/LICENSE`, "utf-8").trim()}\n`;
  });
  return `<!--\nMade by \`make page\` from web/page: do not change it here.\n\n${texts.join("\n")}-->\n`;
}

// The host puts its word (Content Security Policy, `nonce`) into these two elements, and finds them by their bare names.
function embedded(element: "script" | "style", content: string): string {
  const found = /<\/?(script|style|!--)/i.exec(content);
  if (found) throw new Error(`the page's ${element} contains ${found[0]}, which could end it`);
  return `<${element}>\n${content.trim()}\n</${element}>`;
}

function joined(bundle: Bundle, packages: string[]): string {
  let [page, script, style] = ["", "", ""];
  for (const [name, part] of Object.entries(bundle)) {
    if (part.type === "chunk") script += part.code;
    else if (name.endsWith(".html")) page += part.source;
    else if (name.endsWith(".css")) style += part.source;
    else throw new Error(`the page is one document, but ${name} stands beside it`);
    delete bundle[name];
  }
  const [head, body] = page
    .replace(/\s*<(script type="module"|link rel="stylesheet")[^>]*>(<\/script>)?/g, "")
    .split("</head>");
  const top = head?.replace("<html", () => `${licences(packages)}<html`);
  const end = body?.replace("</body>", () => `${embedded("script", script)}\n</body>`);
  return `${top}${embedded("style", style)}\n</head>${end}`;
}

export function oneFile(fileName: string, packages: string[]): Plugin {
  return {
    name: "one-file",
    apply: "build",
    enforce: "post",
    generateBundle(_options, bundle) {
      this.emitFile({ type: "asset", fileName, source: joined(bundle, packages) });
    },
  };
}
