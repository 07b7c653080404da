import { UsageError } from './failure.ts';

/** What a parser that throws a `RangeError` makes of a flag's value; throws `UsageError` in its place. */
export function usable<T>(flag: string, value: string, parse: (value: string) => T): T {
  try {
    return parse(value);
  } catch (error) {
    throw error instanceof RangeError ? new UsageError(`${flag}: ${error.message}`, { cause: error }) : error;
  }
}

/** Throws `UsageError` for a selector that the API server would refuse in words of its own; without one all is well. */
export async function checkSelector(selector: string | undefined): Promise<void> {
  if (selector === undefined) return;
  const { labelSelectorOf } = await import('./label-selector.ts');
  usable('--selector', selector, labelSelectorOf);
}
