import { Command } from 'commander';
import { Pools } from '../cli/kinds.ts';
import { dryRunOption, dryRunRemark, reasonOption } from '../cli/options.ts';
import type { DryRun } from '../cli/parse-values.ts';
import { print } from '../cli/print.ts';
import { labelOf } from '../cli/targets.ts';
import type { Control, Controlled } from '../pool/control.ts';
import { inSession, type Session } from '../session/session.ts';

export interface ControlOptions {
  reason?: string;
  full?: boolean;
  dryRun: DryRun;
}

/** What a command controls, and what it asks for. */
type Load<View> = (options: ControlOptions) => Promise<[Controlled<View>, Control<View>]>;

/** A command that asks something of named pools. */
export const controlCommand = <View>(name: string, load: Load<View>): Command =>
  new Command(name)
    .argument('<kind>', 'pool, or pool/NAME')
    .argument('[names...]')
    .addOption(reasonOption())
    .addOption(dryRunOption())
    .action((word: string, words: string[], options: ControlOptions, command: Command) =>
      inSession(command, (session) => ask(session, [word, ...words], load, options)),
    );

async function ask<View>(session: Session, words: string[], load: Load<View>, options: ControlOptions): Promise<void> {
  const [{ namedPools }, { controlPool }, [controlled, control]] = await Promise.all([
    import('../rollout/pools.ts'),
    import('../pool/control.ts'),
    load(options),
  ]);
  for (const pool of await namedPools(session, words)) {
    const after = await controlPool(session, pool, controlled, control, options);
    print(`${labelOf(Pools.resource, pool.metadata.name)} ${control.done}${dryRunRemark(options.dryRun)}`);
    if (options.dryRun !== 'none') continue;
    for (const line of await controlled.linesOf(after, await session.kube())) print(`  ${line}`);
    control.checkAfter?.(after);
  }
}
