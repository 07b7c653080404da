import type { Command } from 'commander';

/** Returns the flags that were typed, with their values, by their long names. */
export function flagsOf(command: Command): Map<string, string> {
  const flags = new Map<string, string>();
  for (let taker: Command | null = command; taker !== null; taker = taker.parent)
    for (const option of taker.options) {
      const name = option.attributeName();
      if (option.long != null && taker.getOptionValueSource(name) === 'cli')
        flags.set(option.long, String(taker.getOptionValue(name)));
    }
  return flags;
}
