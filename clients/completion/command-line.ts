import type { Command, Option } from 'commander';
import type { Globals } from '../cli/globals.ts';

/** A command line that is not finished. */
export interface CommandLine {
  command: Command;
  /** Arguments before the last word. */
  operands: string[];
  /** The flag whose value the last word is. */
  flag: Option | undefined;
  /** What is typed of the last word. */
  last: string;
  globals: Globals;
}

/** Reads the words after `drover`, the last of which is being typed. Skips what no command takes. */
export function commandLine(program: Command, args: readonly string[]): CommandLine {
  let command = program;
  let flag: Option | undefined;
  const operands: string[] = [];
  const globals: Record<string, string> = {};
  for (const arg of args.slice(0, -1)) {
    if (flag !== undefined) {
      globals[flag.attributeName()] = arg;
      flag = undefined;
    } else if (arg.startsWith('-')) {
      const [name = '', value] = arg.split('=', 2);
      const option = optionOf(command, name);
      if (option !== undefined && value !== undefined) globals[option.attributeName()] = value;
      else if (option?.required === true) flag = option;
    } else {
      const child = operands.length === 0 ? command.commands.find((one) => one.name() === arg) : undefined;
      if (child === undefined) operands.push(arg);
      else command = child;
    }
  }
  const cluster = globals['cluster'] ?? 'default';
  return { command, operands, flag, last: args.at(-1) ?? '', globals: { ...globals, cluster } };
}

/** Returns the option of this name that the command or one above it takes. */
function optionOf(command: Command, name: string): Option | undefined {
  for (let taker: Command | null = command; taker !== null; taker = taker.parent) {
    const option = taker.options.find(({ short, long }) => name === short || name === long);
    if (option !== undefined) return option;
  }
  return undefined;
}
