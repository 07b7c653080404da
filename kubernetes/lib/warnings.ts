/** Returns the texts of a header `Warning`, each of which is `299 AGENT "TEXT"`. */
export const warningsIn = (header: string | string[] | undefined): string[] =>
  [
    ...[header]
      .flat()
      .join(', ')
      .matchAll(/299 \S+ "((?:[^"\\]|\\.)*)"/g),
  ].map(([, text = '']) => text.replaceAll(/\\(.)/g, '$1'));
