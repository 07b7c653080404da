/** What begins or ends something in Markdown, wherever it stands. */
const MARKUP = /[\\`*_[\]<>#|~]/g;

/**
 * People's words and a server's, in one line, so that they are read as they are where Markdown is: the star of a glob
 * would make what follows it slanted and vanish, and a `#` behind a line break a headline.
 */
export const escapeMarkdown = (text: string): string =>
  text.replaceAll(/\s+/g, ' ').replaceAll(MARKUP, String.raw`\$&`);

/** The same as code, which leaves all but the backtick as it is. */
export const inlineCode = (text: string): string => (text.includes('`') ? escapeMarkdown(text) : `\`${text}\``);
