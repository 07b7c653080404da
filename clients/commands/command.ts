import { Command as Commander } from 'commander';
import { dryRunOption, examples, reasonOption } from '../cli/options.ts';
import { inSession, type Work } from '../session/session.ts';

/** A command of which no more is loaded than its declaration until it runs: other commands start sooner. */
export class Command extends Commander {
  readonly #examples: [what: string, line: string][] = [];

  /** Shows below the help what the command is for, and the line to type. */
  examples(...pairs: [what: string, line: string][]): this {
    this.#examples.push(...pairs);
    return this.addHelpText('after', examples(...pairs));
  }

  /** Loads what the command does with these flags, and does it in its own session. */
  does<Flags>(load: (flags: Flags) => Promise<Work<Flags>>): this {
    return this.action((...given: unknown[]) => {
      const args = given
        .slice(0, -2)
        .flat()
        .filter((arg) => arg !== undefined) as string[];
      const flags = given.at(-2) as Flags;
      return inSession(this, async (session) => {
        const work = await load(flags);
        await work(session, flags, ...args);
      });
    });
  }

  /**
   * Adds commands below this one; the one of the name `alone` is meant if none is named. Without own examples,
   * this one shows the first of each.
   */
  commandsBelow(commands: Command[], alone?: string): this {
    for (const command of commands) this.addCommand(command, { isDefault: command.name() === alone });
    return this.#examples.length > 0 ? this : this.examples(...commands.flatMap((one) => one.#examples.slice(0, 1)));
  }
}

/** A command that takes the names of pools. */
export const poolsCommand = (name: string): Command =>
  new Command(name).argument('<kind>', 'pool, or pool/NAME').argument('[names...]', 'names of pools');

/** A command that asks something of pools. */
export const controlCommand = (name: string): Command =>
  poolsCommand(name).addOption(reasonOption()).addOption(dryRunOption());
