import { Option, type Command } from 'commander';
import { dryRunOption, windowOption } from '../../cli/options.ts';
import { parseCountOrPercent, parseCount, parsePositiveDuration, parseBoolean } from '../../cli/parse-values.ts';

/** `--at-once`: `doing` says what so many VMs are at once. */
export const atOnceOption = (doing: string, most: number | string): Option =>
  new Option('--at-once <n>', `how many of them, or how many percent, may be ${doing} at once; at least 1`)
    .argParser(parseCountOrPercent)
    .default(most);

/** Adds the flags of all commands that make operations (`MakingFlags`). */
export const withMaking = (
  command: Command,
  { deadline, verb, done }: { deadline: string; verb: string; done: string },
): Command =>
  command
    .addOption(new Option('--max-failures <n>', 'stop after more failures than this').argParser(parseCount).default(0))
    .addOption(windowOption(verb))
    .addOption(new Option('--deadline <duration>', deadline).argParser(parsePositiveDuration).default(600_000, '10m'))
    .addOption(
      new Option('--wait [boolean]', `follow it to its end; the exit code says whether all were ${done}`)
        .argParser(parseBoolean)
        .default(true),
    )
    .option('--no-wait', 'return as soon as it has begun')
    .option('--reason <words>', 'the reason, shown in status, history and the Web UI')
    .addOption(dryRunOption())
    .addOption(new Option('-o, --output <format>', 'print the operation that would be made').choices(['json', 'yaml']));
