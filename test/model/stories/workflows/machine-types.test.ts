import '../../world/real-code.ts';
import { test } from 'vitest';
import type { VirtualMachine } from '../../../../decisions/from-object/vm.ts';
import { scopeOf } from '../../../decisions/machine-types/snapshots.ts';
import type { World } from '../../world/world.ts';
import { play } from '../story.ts';

const MINUTE_MS = 60_000;
const OLD = 'pc-q35-rhel8.6.0';
const NEW = 'pc-q35-rhel9.4.0';

const typeOf = (world: World, name: string): unknown =>
  (world.vm(name) as unknown as VirtualMachine).spec?.template?.spec?.domain?.machine?.type;

test('a transition changes VMs that were made right before it, however late a worker hears of them', () =>
  play(
    async (world) => {
      await world.people.createVm('lone-1', { machineType: OLD, runStrategy: 'Halted' });
      const { run } = world.people.startTransition({
        scope: scopeOf({ glob: '*rhel8*' }),
        to: NEW,
        restartNow: false,
        maxRestarts: 1,
        maxFailures: 0,
        deadlineMs: MINUTE_MS,
        windows: [],
        force: false,
        requestedBy: 'ann',
        reason: null,
      });
      const isOver = (): boolean => world.temporal.runs.get(run)?.isOpen === false;
      if (!(await world.until(isOver, 30 * MINUTE_MS))) world.break('the transition does not end');
      if (typeOf(world, 'lone-1') !== NEW) world.break('lone-1 is left as it was');
    },
    { lag: 60_000 },
    8,
  ));
