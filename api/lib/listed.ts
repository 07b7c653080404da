/** Returns for example `a, b and c`. */
export const listed = (names: readonly string[]): string => joined(names, 'and');

/** Returns for example `a, b or c`. */
export const eitherOf = (names: readonly string[]): string => joined(names, 'or');

const joined = (names: readonly string[], last: 'and' | 'or'): string =>
  names.join(', ').replace(/, ([^,]*)$/, ` ${last} $1`);
