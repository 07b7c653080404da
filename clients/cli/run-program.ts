import { CommanderError, type Command } from 'commander';
import { FailureBesides, linesOf, UsageError } from './failure.ts';
import { printNote, plain } from './print.ts';

/** As in kubectl, a flag whose value is optional takes it only after `=`: the next word is never its value. */
const ALONE: Record<string, string> = { '--dry-run': '--dry-run=server', '--wait': '--wait=true' };

/** Values of such flags, as the help shows them. */
const VALUES: Record<string, string> = {
  '--dry-run [where]': '--dry-run[=client|server]',
  '--wait [boolean]': '--wait[=true|false]',
};

export const optionTerm = ({ flags }: { flags: string }): string => VALUES[flags] ?? flags;

/** Makes a command show errors as one sentence, and throw instead of exiting. */
export const withPlainErrors = (command: Command): Command =>
  command
    .configureOutput({
      outputError: (text, write) =>
        write(`${plain(withArgument(command, oneSentence(valueless(command, text) ?? text)))}\n`),
    })
    .exitOverride();

/** Runs one command line in its own process, and sets its exit code: 0, 1 for a failure, 2 for wrong usage. */
export async function runProgram(program: Command, args: string[]): Promise<void> {
  // A reader such as `head` has seen enough: exit as a program does that SIGPIPE ends.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(141);
    printNote(`error: standard output can't be written: ${error.message}`);
    process.exit(1);
  });
  // Without stderr, nothing can be reported.
  process.stderr.on('error', () => process.exit(1));
  const code = await runLine(program, args);
  if (code !== 0) process.exitCode = code;
}

/** Runs one command line, and returns the exit code for its error: 0 if it has none. */
export async function runLine(program: Command, args: string[]): Promise<number> {
  try {
    const expanded = args.map((arg) => ALONE[arg] ?? arg);
    await program.parseAsync(expanded, { from: 'user' });
    return 0;
  } catch (error) {
    report(error);
    return exitCodeOf(error);
  }
}

function report(error: unknown): void {
  if (error instanceof CommanderError) return;
  if (process.env['DROVER_DEBUG']) printNote((error as Error).stack ?? String(error));
  else for (const line of linesOf(error)) printNote(`error: ${line}`);
}

function exitCodeOf(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 || error.code === 'commander.help' ? 0 : 2;
  return error instanceof UsageError || error instanceof FailureBesides ? 2 : 1;
}

/** Commander does not know an option that is given a value and takes none. */
function valueless(command: Command, text: string): string | undefined {
  const [, flag] = /^error: unknown option '(--[-a-z]+)=/.exec(text) ?? [];
  return command.options.some(({ long }) => long === flag) ? `error: option '${flag}' takes no value` : undefined;
}

/** Adds the description of a missing argument to the sentence. */
function withArgument(command: Command, sentence: string): string {
  const [, name] = /^error: missing required argument '(.*)'$/.exec(sentence) ?? [];
  const argument = command.registeredArguments.find((one) => one.name() === name);
  return argument === undefined || argument.description === '' ? sentence : `${sentence}: ${argument.description}`;
}

const withValues = (text: string): string =>
  Object.entries(VALUES).reduce((shown, [flags, term]) => shown.replace(flags, term), text);

/** Joins commander's message and its suggestion, which is on its own line, into one sentence. */
const oneSentence = (text: string): string =>
  withValues(text)
    .trim()
    // Undoes `ALONE`: it made `--dry-run=server` of `--dry-run`.
    .replace(/^(error: unknown option '--[-a-z]+)=\S*'/, "$1'")
    .replace(/^error: command-argument value ('.*') is invalid for argument ('[^']*')/, 'error: $1 is invalid for $2')
    .replace(/\n\(Did you mean (.*)\?\)$/s, '; did you mean $1?')
    .replaceAll(/\s*\n\s*/g, ' ');
