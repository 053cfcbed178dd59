// Parses the Mermaid diagrams of Markdown on standard input with Mermaid's own parser; prints the kind of each.
import { readFileSync } from "node:fs";
import DOMPurify from "dompurify";
import mermaid from "mermaid";

// Sanitizing needs a browser; parsing does not.
DOMPurify.addHook = () => {};
DOMPurify.sanitize = (text) => text;

const markdown = readFileSync(0, "utf8");
const blocks = [...markdown.matchAll(/^```mermaid\n([\s\S]*?)^```$/gm)].map((found) => found[1]);
for (const block of blocks) {
  const { diagramType } = await mermaid.parse(block);
  console.log(diagramType);
}
