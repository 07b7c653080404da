import { UsageError } from './failure.ts';

/** Parses a flag's value; throws `UsageError` if `parse` throws a `RangeError`. */
export function parseFlag<T>(flag: string, value: string, parse: (value: string) => T): T {
  try {
    return parse(value);
  } catch (error) {
    throw error instanceof RangeError ? new UsageError(`${flag}: ${error.message}`, { cause: error }) : error;
  }
}

/** Throws `UsageError` for a selector that the API server would refuse in words of its own. Accepts `undefined`. */
export async function checkSelector(selector: string | undefined): Promise<void> {
  if (selector === undefined) return;
  const { checkLabelSelector } = await import('./label-selector.ts');
  parseFlag('--selector', selector, checkLabelSelector);
}
