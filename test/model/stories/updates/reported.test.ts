import '../../world/real-code.ts';
import { isDeepStrictEqual as isEqual } from 'node:util';
import { expect, test } from 'vitest';
import { POOL_LABEL, REVISION_LABEL } from '../../../../api/labels-and-annotations.ts';
import type { PoolSpec } from '../../../../api/pool/pool.ts';
import { VirtualMachineInstances, VirtualMachines } from '../../../../api/resources.ts';
import { field } from '../../../../decisions/lib/json.ts';
import { aStep } from '../../../decisions/fixtures/rollout-pools.ts';
import { aSpec, aTemplate, type Shape } from '../../pools.ts';
import { NAMESPACE } from '../../world/names.ts';
import type { World } from '../../world/world.ts';
import { begun, isReady, play, statusOf } from '../story.ts';

/** What users of other controllers have reported of their rolling updates. */

const MINUTE_MS = 60_000;

const reason = (world: World): string | undefined =>
  statusOf(world)?.conditions?.find(({ type }) => type === 'Progressing')?.reason;
const message = (world: World): string =>
  statusOf(world)?.conditions?.find(({ type }) => type === 'Progressing')?.message ?? '';
const uidsOf = (world: World): Record<string, string> =>
  Object.fromEntries(world.server.all(VirtualMachineInstances).map(({ metadata }) => [metadata.name, metadata.uid]));
const change = (world: World, shape: Shape, spec: Partial<PoolSpec> = {}): Promise<void> =>
  world.people.changePool('web', { ...spec, template: aTemplate(shape) });
const untilReason = (world: World, ...reasons: string[]): Promise<boolean> =>
  world.until(() => reasons.includes(reason(world) ?? ''), 15 * MINUTE_MS);

test.each<[string, Partial<PoolSpec>]>([
  ['', {}],
  [', in steps', { rollout: { steps: [aStep(1, { wait: '10s' })] } }],
  [', with extra VMs', { maxSurge: 1, maxUnavailable: 0 }],
])('a template that never comes up is corrected by the next one%s, though all VMs are down', (_how, spec) =>
  play(
    async (world) => {
      await world.people.createPool('web', aSpec({ replicas: 3, ...spec, template: aTemplate({ neverReady: true }) }));
      await world.wait(3 * MINUTE_MS);
      await change(world, { version: 2 });
      expect(await world.until(isReady(world, 3), 5 * MINUTE_MS)).toBe(true);
      expect(await untilReason(world, 'Complete')).toBe(true);
    },
    {},
    1,
  ),
);

test('the healthy VM stays untouched if an update is taken back whose extra VM never came up', () =>
  play(
    async (world) => {
      await begun(world, { replicas: 1, maxUnavailable: 0, maxSurge: 1 });
      const before = uidsOf(world);
      await change(world, { version: 2, neverReady: true });
      await world.wait(2 * MINUTE_MS);
      await change(world, { version: 1 });
      expect(await untilReason(world, 'Complete')).toBe(true);
      await world.wait(MINUTE_MS);
      expect(uidsOf(world)).toEqual(before);
    },
    {},
    1,
  ));

test('no VM of the old template goes while those of the new one do not come up', () =>
  play(
    async (world) => {
      await begun(world, { replicas: 3, maxUnavailable: 0, maxSurge: 1, rollout: { progressDeadlineSeconds: 60 } });
      const before = uidsOf(world);
      await change(world, { version: 2, neverReady: true });
      await world.wait(10 * MINUTE_MS);
      expect(uidsOf(world)).toMatchObject(before);
      expect(['Failed', 'RollingOut', 'ProgressDeadlineExceeded']).toContain(reason(world));
    },
    {},
    1,
  ));

test('a pool of one VM that boots longer than its deadline is restarted once', () =>
  play(
    async (world) => {
      await begun(world, { replicas: 1, rollout: { progressDeadlineSeconds: 30, maxFailures: 5 } });
      const seen = new Set(Object.values(uidsOf(world)));
      await change(world, { version: 2, bootMs: 90_000 });
      for (let count = 0; count < 60; count++) {
        for (const uid of Object.values(uidsOf(world))) seen.add(uid);
        await world.wait(5_000);
      }
      expect(seen.size).toBe(2);
      expect(reason(world)).toBe('Complete');
    },
    {},
    1,
  ));

test('many steps are passed by few VMs', () =>
  play(
    async (world) => {
      const steps = ['10%', '20%', '40%', '60%', '90%'].map((to) => aStep(to, { wait: '5s' }));
      await begun(world, { replicas: 2, rollout: { steps } });
      await change(world, { version: 2 });
      expect(await untilReason(world, 'Complete')).toBe(true);
    },
    {},
    1,
  ));

test('a pool is scaled in and out at a step, and continues from there', () =>
  play(
    async (world) => {
      const steps = [aStep(3, { approval: {} }), aStep(5, { wait: '5s' })];
      await begun(world, { replicas: 6, maxUnavailable: 2, rollout: { steps } });
      await change(world, { version: 2 });
      expect(await untilReason(world, 'WaitingForApproval')).toBe(true);
      await world.people.changePool('web', { replicas: 2 });
      expect(await world.until(isReady(world, 2), 2 * MINUTE_MS)).toBe(true);
      await world.people.changePool('web', { replicas: 8 });
      expect(await world.until(isReady(world, 8), 2 * MINUTE_MS)).toBe(true);
      expect(await untilReason(world, 'WaitingForApproval')).toBe(true);
      await world.people.rollout('web', 'promote', { full: true });
      expect(await untilReason(world, 'Complete')).toBe(true);
    },
    {},
    1,
  ));

test('guests that use their whole grace period are not failures', () =>
  play(
    async (world) => {
      await begun(world, {
        replicas: 3,
        rollout: { progressDeadlineSeconds: 60 },
        template: aTemplate({ stopMs: 590_000, graceSeconds: 600 }),
      });
      await change(world, { version: 2, stopMs: 590_000, graceSeconds: 600 });
      expect(await world.until(() => reason(world) === 'Complete', 60 * MINUTE_MS)).toBe(true);
      expect(statusOf(world)?.rollout?.failures).toEqual([]);
    },
    {},
    1,
  ));

test('VMs whose owners opted out keep no step from being passed, and a paused one is named', () =>
  play(
    async (world) => {
      await begun(world, { replicas: 4, rollout: { steps: [aStep(3, { wait: '5s' })] } });
      for (const name of ['web-3', 'web-4']) await world.people.optOut(name);
      await world.people.pauseVmi('web-1', true);
      await change(world, { version: 2 });
      await world.wait(2 * MINUTE_MS);
      expect(message(world)).toContain('web-1: it is paused by a user');
      await world.people.pauseVmi('web-1', false);
      expect(await untilReason(world, 'Complete', 'OutdatedVms')).toBe(true);
    },
    {},
    1,
  ));

test('a rollout that was aborted in its middle continues once it is resumed', () =>
  play(
    async (world) => {
      await begun(world, { replicas: 4, rollout: { steps: [aStep(2, { approval: {} })] } });
      await change(world, { version: 2 });
      expect(await untilReason(world, 'WaitingForApproval')).toBe(true);
      await world.people.rollout('web', 'abort');
      expect(await untilReason(world, 'Aborted')).toBe(true);
      await world.people.rollout('web', 'resume');
      expect(await untilReason(world, 'WaitingForApproval')).toBe(true);
      await world.people.rollout('web', 'promote', { full: true });
      expect(await untilReason(world, 'Complete')).toBe(true);
    },
    {},
    1,
  ));

test('a template that flaps comes to rest at the last one', () =>
  play(
    async (world) => {
      await begun(world, { replicas: 4, maxUnavailable: 2 });
      for (let count = 0; count < 12; count++) {
        await change(world, { version: 2 + (count % 2) });
        await world.wait(3_000);
      }
      expect(await untilReason(world, 'Complete')).toBe(true);
      const revisions = new Set(
        world.server.all(VirtualMachines).map(({ metadata }) => metadata.labels?.[REVISION_LABEL]),
      );
      expect([...revisions]).toEqual([statusOf(world)?.updateRevision]);
    },
    {},
    1,
  ));

/** Takes these labels off the VM, its template, and its VMI. */
function strip(world: World, name: string, labels: readonly string[]): void {
  const without = (all: Record<string, string> = {}): Record<string, string> =>
    Object.fromEntries(Object.entries(all).filter(([key]) => !labels.includes(key)));
  for (const resource of [VirtualMachines, VirtualMachineInstances])
    world.server.write(resource, { namespace: NAMESPACE, name }, (object) => {
      const { metadata, ...rest } = structuredClone(object);
      const template = field(rest['spec'], 'template', 'metadata') as { labels?: Record<string, string> } | undefined;
      if (template !== undefined) template.labels = without(template.labels);
      return { ...rest, metadata: { ...metadata, labels: without(metadata.labels) } };
    });
}

test.each([
  ['its pool', [POOL_LABEL], true],
  ['its pool and its revision', [POOL_LABEL, REVISION_LABEL], false],
] as const)(
  'a VM from which somebody takes the labels of %s stays, gets them back, and has not failed',
  (_which, labels, isSame) =>
    play(
      async (world) => {
        await begun(world, { replicas: 3 });
        const [before, vm] = [uidsOf(world), world.vm('web-2')!.metadata.uid];
        const reasons = new Set<string>();
        world.onlookers.push({ onWrite: () => void reasons.add(`${reason(world)}: ${message(world)}`) });
        strip(world, 'web-2', labels);
        await world.wait(3 * MINUTE_MS);
        expect([...reasons].filter((one) => one.includes('ail'))).toEqual([]);
        expect(world.vm('web-2')!.metadata).toMatchObject({ uid: vm, labels: { [POOL_LABEL]: 'web' } });
        // What its VMI runs is known only by that label.
        expect(isEqual(uidsOf(world), before)).toBe(isSame);
        expect(reason(world)).toBe('Complete');
      },
      {},
      1,
    ),
);
