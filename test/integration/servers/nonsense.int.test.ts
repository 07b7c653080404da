import type { WorkflowHandle } from '@temporalio/client';
import { RawValue } from '@temporalio/common';
import { expect, test } from 'vitest';
import { VirtualMachineInstances, VirtualMachinePools } from '../../../api/resources.ts';
import * as messages from '../../../workflows/lib/messages.ts';
import {
  healVmIdOf,
  operationProgress,
  poolIdOf,
  updateBatchIdOf,
  watchIdOf,
} from '../../../workflows/lib/messages.ts';
import { seeded, seedOf } from '../../seeded.ts';
import { some } from '../../soak.ts';
import { aFleet, haltedTemplate, until } from '../fleet.ts';
import { HealedPool, QUICK, withDisk, withFastStarts } from '../healing/healings.ts';
import { TypedVms } from '../machine-types/machine-types.ts';
import { aSecondLater, TestOperation } from '../operations/operations.ts';
import { badTemplate, TestPool } from '../rollout/rollouts.ts';

const fleet = aFleet();
withFastStarts(fleet);
const random = seeded(seedOf());

const declared = Object.values(messages).filter((one) => typeof one === 'object');
const signals = declared.filter(({ type }) => type === 'signal').map(({ name }) => name);
const queries = declared.filter(({ type }) => type === 'query').map(({ name }) => name);

function deep(depth: number): object {
  let value: object = {};
  for (let level = 0; level < depth; level++) value = { value };
  return value;
}

/** Arguments to send with each signal. Signals that end or hold something do so with any of them. */
const NONSENSE: unknown[][] = [
  [],
  [null],
  ['words'],
  [5],
  [true],
  [{}],
  [[]],
  [deep(1_000)],
  [
    {
      pools: 'abc',
      vms: 5,
      n: 'x',
      outcomes: {},
      seen: null,
      verdict: 'Sick',
      hold: 9,
      news: 'Stands',
      phase: [],
      vm: {},
      full: 'no',
      by: 1,
      reason: [],
    },
  ],
  [{ n: 1, outcomes: [null], vm: 'web-1', attempt: '1', outcome: { end: 'Removed' }, seen: 'x' }],
  [
    {
      vm: 'web-1',
      uid: 'u',
      attempt: 1,
      startedAt: '2026-01-01T00:00:00Z',
      outcome: { end: 'Removed', keptDisks: 'no', nextAt: 'soon' },
    },
  ],
];

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const undecodable = (encoding: string, data: string): RawValue =>
  RawValue.fromPayload({ metadata: { encoding: bytes(encoding) }, data: bytes(data) });
/** What the SDK can't decode: encrypted with an unknown key, cut short, or without an encoding. */
const UNDECODABLE: unknown[][] = [
  [undecodable('binary/encrypted', 'x')],
  [undecodable('json/plain', '{"by":')],
  [RawValue.fromPayload({ data: bytes('x') })],
  ['words', undecodable('binary/encrypted', 'x')],
];
NONSENSE.push(...UNDECODABLE);

/** Signals that take effect with any payload, and may end or change the workflow: they come last. */
const LAST = ['supersede', 'abort'];

async function sendNonsense(handle: WorkflowHandle): Promise<void> {
  for (const name of signals.filter((name) => !LAST.includes(name)))
    for (const args of some(NONSENSE, 3, random)) await handle.signal<unknown[]>(name, ...args);
}

/** Sends every query, also with nonsense. An answer that there is no such query counts too. */
async function ask(handle: WorkflowHandle): Promise<void> {
  for (const name of queries) {
    const asked = (args: unknown[]): Promise<boolean> =>
      handle.query<unknown, unknown[]>(name, ...args).then(
        () => true,
        (error: Error) => {
          expect(`${error.message}: ${String(error.cause)}`).toContain(`did not register a handler for ${name}`);
          return false;
        },
      );
    // On a busy machine a worker may answer late.
    const answers = async (args: unknown[]): Promise<boolean> => {
      let isKnown = false;
      await until(async () => void (isKnown = await asked(args)));
      return isKnown;
    };
    const isKnown = await answers([]);
    // The SDK decodes the arguments of unknown queries too, which fails the query, and once a task that it happens to
    // come with.
    for (const args of some(NONSENSE, 3, random))
      if (isKnown || !UNDECODABLE.includes(args)) expect(await answers(args)).toBe(isKnown);
  }
}

/** Asserts that no workflow task has failed, except those that a signal interrupted. */
async function unharmed(handle: WorkflowHandle): Promise<void> {
  const { events } = await handle.fetchHistory();
  const failures = (events ?? []).flatMap(({ workflowTaskFailedEventAttributes: failed }) =>
    failed == null ? [] : [failed],
  );
  expect(failures.filter(({ failure }) => failure != null).map(({ failure }) => failure!.message)).toEqual([]);
}

const handleOf = (id: string): WorkflowHandle => fleet().temporal.client.workflow.getHandle(id);

test('a pool, a batch and the watch answer and continue, whatever is sent to them', async () => {
  const pool = await TestPool.ready(fleet(), { replicas: 2 });
  const revision = await pool.change(badTemplate(2));
  // Some nonsense is a valid pause. If the batch has not restarted its VM by then, the batch ends early.
  await until(async () => expect(await pool.running(revision)).toHaveLength(1));
  const batch = handleOf(updateBatchIdOf(pool.ref, revision, 1));
  const workflows = [pool.workflow, batch, handleOf(watchIdOf('default'))];
  for (const handle of workflows) {
    await sendNonsense(handle);
    await ask(handle);
  }
  for (const name of LAST) for (const args of NONSENSE) await pool.workflow.signal<unknown[]>(name, ...args);
  for (const handle of workflows) await unharmed(handle);

  // No signal ends a rollout; some nonsense is a valid pause.
  expect((await pool.status()).rollout).not.toHaveProperty('halted');
  await pool.workflow.signal('resume');
  await batch.signal<unknown[]>('supersede', deep(1_000));
  const outcomes = (await batch.result()) as { end: string }[];
  // The second VM was given back if the batch has heard of the pause, and is superseded otherwise.
  const ends = outcomes.map(({ end }) => end);
  expect(ends).toContain('Superseded');
  expect(['NotBegun', 'Superseded']).toEqual(expect.arrayContaining(ends));
  await unharmed(batch);
  await pool.patch({ replicas: 3 });
  await pool.until({ replicas: 3 });
});

test('an attempt to heal a VM continues and heals, whatever is sent to it', async () => {
  const healed = await HealedPool.ready(fleet(), {
    replicas: 1,
    template: withDisk(),
    autohealing: { ...QUICK, maxUnhealthy: '100%', backoff: { initial: '1h', jitter: 0 } },
  });
  await healed.break(1);
  await healed.untilCycle(1, { phase: 'Waiting' });
  const attempt = handleOf(healVmIdOf(healed.pool.ref, 'web-1', 1));
  await sendNonsense(attempt);
  await ask(attempt);
  await unharmed(attempt);
  await healed.untilCycle(1, { phase: 'Waiting' });
  await healed.pool.heal({ action: 'now', vms: ['web-1'] });
  await healed.untilFinished(1, { end: 'Healed' });
  await unharmed(attempt);
  await unharmed(handleOf(poolIdOf(healed.pool.ref)));
});

test('a restart and a machine type transition continue and end, whatever is sent to them', async () => {
  const typedVms = await TypedVms.of(fleet(), { db: {}, other: {} });
  const never = { spec: { template: { metadata: { annotations: { 'sim.drover.dev/never-ready': 'true' } } } } };
  await typedVms.patch('db', never);
  await aSecondLater();
  const operation = await TestOperation.make(fleet().kube, typedVms.namespace, {
    vms: { names: ['db'] },
    deadline: '1h',
  });
  const restart = fleet().temporal.client.workflow.getHandle(operation.workflowId);
  await until(async () => expect(await restart.query(operationProgress)).toMatchObject({ chosen: 1 }));
  const transition = await typedVms.change({ restartNow: false });
  for (const handle of [restart, transition.handle]) {
    await sendNonsense(handle);
    await ask(handle);
    await unharmed(handle);
  }
  for (const one of [operation, transition]) await one.set({ aborted: true });
  expect(await transition.result()).toMatchObject({ phase: 'Aborted' });
  // Only now: a restart that is done before it is aborted is complete.
  const vmi = { namespace: typedVms.namespace, name: 'db' };
  await fleet().kube.patch(VirtualMachineInstances, vmi, 'merge', {
    metadata: { annotations: { 'sim.drover.dev/never-ready': null } },
  });
  expect(await restart.result()).toMatchObject({ phase: 'Aborted' });
});

test('only the pool whose template is nested thousands of levels deep is stalled, and it can be deleted', async () => {
  const namespace = await fleet().namespace();
  await fleet().createPool(namespace, 'deep', { template: { spec: { ...haltedTemplate.spec, x: deep(3_500) } } });
  await fleet().createPool(namespace, 'web', { replicas: 2 });
  await fleet().settled(namespace, 'web', ['web-1', 'web-2']);
  await until(async () =>
    expect(await fleet().condition(namespace, 'deep', 'Stalled')).toMatchObject({
      status: 'True',
      reason: 'InvalidTemplate',
    }),
  );
  await fleet().kube.delete(VirtualMachinePools, { namespace, name: 'deep' });
  await until(async () => expect(await fleet().pool(namespace, 'deep')).toBeUndefined());
});
