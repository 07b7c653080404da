import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { CHANGE_CAUSE_ANNOTATION, REQUESTED_BY_ANNOTATION } from '../../../../api/labels-and-annotations.ts';
import { VirtualMachines } from '../../../../api/resources.ts';
import { userOf } from '../../../../clients/session/requester.ts';
import type { VirtualMachine } from '../../../../simulator/objects/kubevirt.ts';
import { aFleet, namesUpTo, until } from '../../../integration/fleet.ts';
import { withFastStarts, HealedPool } from '../../../integration/healing/healings.ts';
import { aSecondLater, TestOperation } from '../../../integration/operations/operations.ts';
import { HeldVmis } from '../../../integration/power/held-vmis.ts';
import { each, TestVms } from '../../../integration/power/vms.ts';
import { approvalAt, templateOf, TestPool } from '../../../integration/rollout/rollouts.ts';
import { aBrowser } from './fixture/browser.ts';
import { aDashboard, openedAt, press, REASON, show } from './fixture/dashboards.ts';

/**
 * Each button is pressed while VMs change, which wait for it, and judged by KubeVirt's objects, which are watched
 * independently.
 */
const fleet = aFleet();
const browser = aBrowser();
withFastStarts(fleet);

const opened = async (namespace: string): Promise<Page> =>
  openedAt(browser(), (await aDashboard(fleet().stack.kubeconfig, { namespace })).url);
const versionOf = async (pool: TestPool): Promise<bigint> => BigInt((await pool.get()).metadata.resourceVersion);

/** Opens the page of the pool `web`, and returns who its user is as well. */
async function ofPool({ namespace }: TestPool): Promise<{ page: Page; by: string }> {
  const page = await opened(namespace);
  await show(page, `#/pool/${namespace}/web`, 'web');
  return { page, by: await userOf(fleet().kube) };
}

/** Resolves when all VMs are back that a batch had begun with. */
const atRest = (pool: TestPool): Promise<void> =>
  until(async () => {
    const { spec, status } = await pool.get();
    expect(status).toMatchObject({ replicas: spec.replicas, readyReplicas: spec.replicas });
    expect(status?.disruptedVMs ?? []).toEqual([]);
    expect(await pool.inProgress()).toEqual([]);
  });

describe('in the middle of a rollout', () => {
  test('Pause begins with no further VM and Resume with the rest, each once and within the budget, and who asked why is kept', async () => {
    const pool = await TestPool.ready(fleet(), { replicas: 5, maxUnavailable: 1 });
    const { page, by } = await ofPool(pool);
    const watch = await pool.watched();
    const vmis = await HeldVmis.of(fleet(), pool.namespace);
    const revision = await pool.change(templateOf({ cores: 2 }));
    const first = await vmis.next();
    await press(page, 'Pause', 'web', /web paused/);
    expect((await pool.status()).rollout).toMatchObject({ paused: { by, reason: REASON } });
    await vmis.letGo();
    await atRest(pool);
    const from = await versionOf(pool);
    expect(await pool.running(revision)).toEqual([first]);
    // A pool that scales has planned, and would have begun with another VM.
    await pool.patch({ replicas: 6 });
    await pool.until({ readyReplicas: 6 });
    const to = await versionOf(pool);
    await press(page, 'Resume', 'web', /web resumed/);
    await pool.untilComplete(revision);
    await watch.caughtUp();
    expect(watch.log.departures().filter(({ version }) => version > from && version < to)).toEqual([]);
    expect(watch.log.mostUnavailable()).toBe(1);
    expect(namesUpTo('web', 5).map((name) => watch.log.restartsOf(name).length)).toEqual([1, 1, 1, 1, 1]);
    expect((await pool.status()).rollout?.handledRequests).toContainEqual(
      expect.objectContaining({ action: 'resume', by, reason: REASON, outcome: 'Done' }),
    );
  });

  test('Promote leads to the next step, past all steps if asked, within the budget, and who asked why is kept', async () => {
    const rollout = { steps: [approvalAt(1), approvalAt(3)] };
    const pool = await TestPool.ready(fleet(), { replicas: 6, maxUnavailable: 2, rollout });
    const { page, by } = await ofPool(pool);
    const watch = await pool.watched();
    const revision = await pool.change(templateOf({ cores: 2 }));
    for (const count of [1, 3]) {
      await pool.untilSaid({ Progressing: 'WaitingForApproval' });
      await atRest(pool);
      expect(await pool.running(revision)).toHaveLength(count);
      if (count === 1) await press(page, 'Promote', 'web', /web promoted/);
    }
    await page.getByRole('button', { name: 'Promote web', exact: true }).click();
    await page.getByLabel('past all remaining steps').check();
    await page.getByRole('dialog').getByRole('button', { name: 'Promote', exact: true }).click();
    await pool.untilComplete(revision);
    await watch.caughtUp();
    expect(watch.log.mostUnavailable()).toBeLessThanOrEqual(2);
    expect(namesUpTo('web', 6).map((name) => watch.log.restartsOf(name).length)).toEqual([1, 1, 1, 1, 1, 1]);
    expect((await pool.status()).rollout?.handledRequests).toMatchObject([
      { action: 'promote', by, reason: REASON, outcome: 'Done' },
      { action: 'promote', by, outcome: 'Done' },
    ]);
  });

  test('Abort leaves the rest as it is, and Undo brings back what was updated and nothing else, within the budget', async () => {
    const pool = await TestPool.ready(fleet(), { replicas: 5, maxUnavailable: 1 });
    const { currentRevision } = await pool.status();
    const { page, by } = await ofPool(pool);
    const watch = await pool.watched();
    const vmis = await HeldVmis.of(fleet(), pool.namespace);
    const revision = await pool.change(templateOf({ cores: 2 }));
    const updated = [await vmis.next()];
    await press(page, 'Abort', 'web', /web aborted/);
    expect((await pool.status()).rollout).toMatchObject({ halted: { kind: 'Aborted', by, reason: REASON } });
    await vmis.letGo();
    await atRest(pool);
    expect(await pool.running(revision)).toEqual(updated);
    const from = await versionOf(pool);
    await press(page, 'Undo', 'web', /template of revision 1/);
    await pool.untilComplete(currentRevision!);
    await watch.caughtUp();
    const departures = watch.log.departures();
    expect(
      departures
        .filter(({ version }) => version > from)
        .map(({ name }) => name)
        .sort(),
    ).toEqual(updated);
    expect(
      departures
        .filter(({ version }) => version < from)
        .map(({ name }) => name)
        .sort(),
    ).toEqual(updated);
    expect(watch.log.mostUnavailable()).toBe(1);
    const { metadata } = await pool.get();
    expect(metadata.annotations?.[CHANGE_CAUSE_ANNOTATION]).toContain(REASON);
    expect(metadata.annotations?.[REQUESTED_BY_ANNOTATION]).toContain(by);
  });
});

describe('for a VM that fails', () => {
  /** A back-off that only a user ends. */
  const autohealing = {
    startupFailureThreshold: 2,
    maxUnhealthy: '100%',
    preserveStorage: false,
    backoff: { initial: '1h', max: '1h', jitter: 0 },
  };
  const aPool = () => HealedPool.ready(fleet(), { replicas: 3, autohealing, template: templateOf() });

  test('Heal now replaces it at once, and who asked why is kept', async () => {
    const healed = await aPool();
    const { page, by } = await ofPool(healed.pool);
    const others = await healed.pool.vmiUids();
    const uid = await healed.uid(2);
    await healed.break(2);
    await healed.untilCycle(2, { phase: 'Waiting' });
    await show(page, `#/vm/${healed.pool.namespace}/web-2`, 'web-2');
    await press(page, 'Heal now', 'web-2', /web-2 no longer waits/);
    await healed.replaced(2, uid);
    await healed.untilFinished(2, { end: 'Healed' });
    expect((await healed.healing()).handledRequests).toContainEqual(
      expect.objectContaining({ action: 'now', by, reason: REASON, outcome: 'Done' }),
    );
    const now = await healed.pool.vmiUids();
    expect({ ...now, 'web-2': null }).toEqual({ ...others, 'web-2': null });
  });

  test('Pause healing leaves it, Resume healing replaces it, and Skip ends that', async () => {
    const healed = await aPool();
    const { page, by } = await ofPool(healed.pool);
    const uid = await healed.uid(3);
    await press(page, 'Pause healing', 'web', /healing paused/);
    await healed.break(3);
    await until(async () =>
      expect(await healed.healing()).toMatchObject({ paused: { by, reason: REASON }, cycles: [] }),
    );
    await until(async () =>
      expect((await healed.healing()).notReplaced).toMatchObject([{ vm: 'web-3', waitsFor: 'healing is paused' }]),
    );
    expect(await healed.uid(3)).toBe(uid);
    // drover forgets a skip as soon as the replacement is available; delay that.
    await healed.pool.patch({ rollout: { minReadySeconds: 60 } });
    await press(page, 'Resume healing', 'web', /healing resumed/);
    await healed.untilCycle(3, { phase: 'Waiting' });
    await show(page, `#/vm/${healed.pool.namespace}/web-3`, 'web-3');
    await press(page, 'Skip', 'web-3', /web-3 skipped/);
    await healed.untilFinished(3, { end: 'Skipped' });
    await healed.replaced(3, uid);
    expect((await healed.healing()).handledRequests?.map(({ action, reason: why }) => [action, why])).toEqual([
      ['pause', REASON],
      ['resume', REASON],
      ['skip', REASON],
    ]);
  });
});

const VMS = namesUpTo('vm', 3);

/**
 * Pauses the operation while it is at its first VM, resumes it, and aborts it at its second. `done`: VMs that it has
 * done; returns those two.
 */
async function steered(
  page: Page,
  operation: TestOperation,
  vmis: HeldVmis,
  done: () => Promise<string[]>,
): Promise<string[]> {
  const { namespace, name } = operation.key;
  await show(page, `#/vmop/${namespace}/${name}`, name);
  const first = await vmis.next();
  await press(page, 'Pause', name, /paused/);
  await operation.stands('Paused');
  await operation.until({ vms: { inProgress: 1 } });
  await vmis.letGo(first);
  await operation.until({ vms: { inProgress: 0 } });
  expect(await done()).toEqual([first]);
  const { conditions = [] } = (await operation.read())!.status!;
  expect(conditions.find(({ type }) => type === 'Paused')).toMatchObject({
    message: expect.stringContaining(REASON),
  });
  await press(page, 'Resume', name, /resumed/);
  const second = await vmis.next();
  await press(page, 'Abort', name, /aborted/);
  await operation.stands('Aborting');
  await vmis.letGo();
  await operation.until({ completionTime: expect.any(String), vms: { inProgress: 0 } });
  expect((await operation.read())!.status!.conditions).toContainEqual(
    expect.objectContaining({ message: expect.stringContaining(REASON) }),
  );
  const both = [first, second].toSorted();
  expect(await done()).toEqual(both);
  return both;
}

describe('of an operation in progress, Pause, Resume and Abort', () => {
  test('stop and continue a change of VMs that restarts them, one at a time', async () => {
    const vms = await TestVms.of(fleet(), each(VMS, {}));
    const vmis = await HeldVmis.of(fleet(), vms.namespace);
    await aSecondLater();
    const merge = 'spec: { template: { spec: { domain: { cpu: { cores: 2 } } } } }';
    const patch = { merge, restart: true } as const;
    // A browser may take longer to start than the operation to end.
    const page = await opened(vms.namespace);
    const operation = await TestOperation.make(fleet().kube, vms.namespace, { action: 'Patch', patch });
    const changed = async (): Promise<string[]> => {
      const { items } = await fleet().kube.list<VirtualMachine>(VirtualMachines, { namespace: vms.namespace });
      return items.flatMap(({ metadata, spec }) => (spec.template.spec.domain.cpu?.cores === 2 ? [metadata.name] : []));
    };
    const done = await steered(page, operation, vmis, changed);
    await vms.ready(VMS);
    await vms.watch.caughtUp();
    expect(vms.watch.log.mostUnavailable()).toBe(1);
    expect(await vms.restarts()).toEqual({ ...each(VMS, 0), ...each(done, 1) });
  });
});
