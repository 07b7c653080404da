// Characters that a terminal interprets instead of showing, or that change the direction of text.
// oxlint-disable-next-line no-control-regex
const CONTROL = /[\u0000-\u001F\u007F-\u009F\u2028\u2029]+/g;
const DIRECTION = /[\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069]/g;
// oxlint-disable-next-line no-control-regex
const STYLE = /(\u001B\[(?:0|1|2|22|3\d|9[0-7])m)/;

const escaped = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;

/** Makes text from elsewhere, such as a name or a message, safe for a terminal, and puts it on one line. */
export const plainText = (text: string): string => text.replaceAll(CONTROL, ' ').replaceAll(DIRECTION, escaped);

/** Makes lines in drover's own colours safe to print: everything but the colours goes through `plainText`. */
export const printable = (lines: string): string =>
  lines
    .split('\n')
    .map((line) =>
      line
        .split(STYLE)
        .map((part, index) => (index % 2 === 1 ? part : part.split('\t').map(plainText).join('\t')))
        .join(''),
    )
    .join('\n');

/** Escapes characters in JSON that would act on a terminal; its meaning stays the same. */
export const plainJson = (json: string): string =>
  // oxlint-disable-next-line no-control-regex
  json.replaceAll(/[\u007F-\u009F\u2028\u2029\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069]/g, escaped);
