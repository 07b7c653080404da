// What acts on a terminal instead of being shown there, or turns the order of what is shown.
// oxlint-disable-next-line no-control-regex
const CONTROL = /[\u0000-\u001F\u007F-\u009F\u2028\u2029]+/g;
const DIRECTION = /[\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069]/g;
// oxlint-disable-next-line no-control-regex
const STYLE = /(\u001B\[(?:0|1|2|22|3\d|9[0-7])m)/;

const escaped = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;

/**
 * Text that somebody else has written, such as a name or a message, on one line, and without what would act on a
 * terminal.
 */
export const plainText = (text: string): string => text.replaceAll(CONTROL, ' ').replaceAll(DIRECTION, escaped);

/** Lines in drover's own colours as they may be printed: whatever else got into them is made plain. */
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

/** JSON, with characters escaped that would act on a terminal: it says the same. */
export const plainJson = (json: string): string =>
  // oxlint-disable-next-line no-control-regex
  json.replaceAll(/[\u007F-\u009F\u2028\u2029\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069]/g, escaped);
