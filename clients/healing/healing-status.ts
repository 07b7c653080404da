import type { Stored } from '../../api/objects.ts';
import type { Pool } from '../../decisions/views/pool.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { Pools } from '../cli/kinds.ts';
import { Board, printViews } from '../cli/live.ts';
import { printNote, paint, plain, type DataFormat } from '../cli/print.ts';
import { followOwners } from '../cli/watch-until.ts';
import { poolsOf } from '../pool/named-pools.ts';
import type { Work } from '../session/session.ts';
import { healLines } from './lines.ts';
import { healView, type HealView } from './view.ts';

/** Shows the healing of pools, once or as it changes. */
export const healStatus: Work<{ watch?: boolean; output?: DataFormat }> = async (
  session,
  { watch, output },
  ...args
) => {
  const pools = await poolsOf(session, args);
  if (pools.length === 0) return printNote(`No resources found in ${await session.namespace()} namespace.`);
  if (watch === true) return followHealing(await session.kube(), pools);
  await printViews(pools.map(healView), { output, blockOf });
};

/** Shows healing as it changes, until the command is interrupted. Throws `Failure` if a pool is deleted. */
async function followHealing(kube: KubeClient, pools: Stored<Pool>[]): Promise<void> {
  await using board = new Board('pool', { blockOf });
  await followOwners({ kube, kind: Pools, owners: pools }, (now) => {
    board.show(now.map(healView));
    return false;
  });
}

function blockOf(view: HealView, now: number): string[] {
  const head = paint('bold', plain(`${view.namespace}/${view.pool}`));
  return [head, ...healLines(view, now).map((line) => (line === '' ? '' : `  ${line}`))];
}
