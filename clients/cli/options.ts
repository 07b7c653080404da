import { InvalidArgumentError, Option, type Command } from 'commander';
import { parseDryRun } from './parse-values.ts';

/** Flags that more than one command has. */

export const dryRunOption = (): Option =>
  new Option(
    '--dry-run [where]',
    'change nothing: "server", the default value, asks the API server what would happen; "client" does not',
  )
    .default('none', 'none')
    .argParser(parseDryRun);

export const formatOption = (choices: string[] = ['json', 'yaml', 'name', 'wide']): Option =>
  new Option('-o, --output <format>', 'how to print').choices(choices);

/** The longest reason that a pool's status accepts. */
const LONGEST_REASON = 1024;

/** `--reason`: users read it in the status, the history and the Web UI, or wherever `shownIn` says. */
export const reasonOption = (shownIn = 'status, history and the Web UI'): Option =>
  new Option('--reason <words>', `the reason, shown in ${shownIn}`).argParser((text) => {
    const trimmed = text.trim();
    if (trimmed.length > 0 && trimmed.length <= LONGEST_REASON) return trimmed;
    throw new InvalidArgumentError(`Give 1 to ${LONGEST_REASON} characters.`);
  });

/** `--window`: work on VMs starts only inside one. `verb`: what is done to them. */
export const windowOption = (verb: string): Option =>
  new Option(
    '--window <window>',
    `${verb} only then: cron, duration and perhaps a time zone, such as "0 2 * * * 4h Europe/Zurich" (repeatable)`,
  ).argParser((text, before: string[] | undefined) => [...(before ?? []), text]);

export interface ManifestOptions {
  filename?: string[];
  recursive?: boolean;
}

/** Adds `-f` and `-R`, which mean the same in each command that reads manifests. */
export const withManifests = <C extends Command>(command: C): C =>
  command
    .option(
      '-f, --filename <path>',
      'a file, a folder, or - for standard input; repeatable',
      (path, before: string[] | undefined) => {
        if (path !== '') return [...(before ?? []), path];
        throw new InvalidArgumentError('Give a file, a folder, or -.');
      },
    )
    .option('-R, --recursive', 'look into subfolders, too');

/** Formats the examples below a command's help: a comment on the purpose, and the line to type. */
export const examples = (...pairs: [what: string, line: string][]): string =>
  `\nExamples:\n${pairs.map(([what, line]) => `  # ${what}\n  ${line}`).join('\n\n')}\n`;
