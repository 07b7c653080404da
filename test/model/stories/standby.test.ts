import '../world/real-code.ts';
import { expect, test } from 'vitest';
import { ROLE_LABEL } from '../../../api/labels-and-annotations.ts';
import type { Stored } from '../../../api/objects.ts';
import { vmiView, type VirtualMachineInstance } from '../../../decisions/from-object/vmi.ts';
import { scopeOf } from '../../decisions/machine-types/snapshots.ts';
import { aTemplate } from '../pools.ts';
import type { World } from '../world/world.ts';
import { begun, play } from './story.ts';

const MINUTE_MS = 60_000;

const isPaused = (world: World, name: string): boolean => {
  const vmi = world.vmi(name) as Stored<VirtualMachineInstance> | undefined;
  return vmi !== undefined && vmiView(vmi).pause !== null;
};
const isStandby = (world: World, name: string): boolean => world.vm(name)?.metadata.labels?.[ROLE_LABEL] === 'Standby';

test('a VM that leaves its pool while it is paused as standby resumes, and a machine type transition ends', () =>
  play(async (world) => {
    const template = aTemplate({ machineType: 'pc-q35-rhel8.6.0' });
    await begun(world, { replicas: 2, template, standby: { replicas: 1, state: 'Paused' } });
    expect(await world.until(() => isPaused(world, 'web-3'), MINUTE_MS)).toBe(true);
    await world.people.detach('web-3');
    expect(await world.until(() => !isStandby(world, 'web-3'), MINUTE_MS)).toBe(true);
    await world.people.changePool('web', { standby: { replicas: 0, state: 'Paused' } });
    world.people.startTransition({
      scope: scopeOf({ glob: '*rhel8*' }),
      to: 'pc-q35-rhel9.4.0',
      restartNow: true,
      maxRestarts: 1,
      maxFailures: 2,
      deadlineMs: MINUTE_MS,
      windows: [],
      force: false,
      requestedBy: 'ann',
      reason: null,
    });
    await world.wait(1_000);
    const isOver = (): boolean =>
      [...world.temporal.runs.values()].every(({ type, isOpen }) => type !== 'operation' || !isOpen);
    expect(await world.until(isOver, 30 * MINUTE_MS)).toBe(true);
    expect((world.vmi('web-3') as VirtualMachineInstance).status?.machine?.type).toBe('pc-q35-rhel9.4.0');
  }));
