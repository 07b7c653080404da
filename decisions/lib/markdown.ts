/** Characters with a meaning in Markdown, wherever they are. */
const MARKUP = /[\\`*_[\]<>#|~]/g;

/**
 * Escapes text from users or servers, and puts it on one line, so that Markdown shows it verbatim: the star of a glob
 * would start italics and vanish, and a `#` after a line break would start a heading.
 */
export const escapeMarkdown = (text: string): string =>
  text.replaceAll(/\s+/g, ' ').replaceAll(MARKUP, String.raw`\$&`);
