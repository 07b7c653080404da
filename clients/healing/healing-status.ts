import type { Stored } from '../../api/objects.ts';
import type { Pool } from '../../decisions/views/pool.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import type { DataFormat } from '../cli/data.ts';
import { Pools } from '../cli/kinds.ts';
import { Board, printViews } from '../cli/live.ts';
import { paint, plain } from '../cli/print.ts';
import { followOwners } from '../cli/wait.ts';
import { healLines } from './lines.ts';
import { healView, type HealView } from './view.ts';

/** Prints the current healing state of pools. */
export const printHealing = (pools: Stored<Pool>[], output?: DataFormat): Promise<void> =>
  printViews(pools.map(healView), { output, blockOf });

/** Shows healing as it changes, until the command is interrupted. Throws `Failure` if a pool is deleted. */
export async function followHealing(kube: KubeClient, pools: Stored<Pool>[]): Promise<void> {
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
