import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import type { DashboardOptions } from '../../../../clients/dashboard/dashboard.ts';
import { aFleet, runningTemplate, until } from '../../../integration/fleet.ts';
import { userWith } from '../../../integration/operations/operations.ts';
import { byApproval } from '../../rollout/pools.ts';
import { aBrowser, untilAccessible } from './fixture/browser.ts';
import { aDashboard, openedAt, resultOf } from './fixture/dashboards.ts';

const fleet = aFleet();
const browser = aBrowser();

const opened = async (options: Partial<DashboardOptions> = {}, kubeconfig = fleet().stack.kubeconfig): Promise<Page> =>
  openedAt(browser(), (await aDashboard(kubeconfig, options)).url);

const withMemory = (guest: string): typeof runningTemplate => {
  const template = structuredClone(runningTemplate);
  (template.spec.template as { spec: { domain: object } }).spec.domain = { devices: {}, memory: { guest } };
  return template;
};

/** Begins a rollout that waits for approval after its first VM. */
async function waitingPool(namespace: string): Promise<void> {
  await fleet().createPool(namespace, 'web', { replicas: 3, template: runningTemplate, rollout: byApproval(1) });
  await until(async () => expect((await fleet().pool(namespace, 'web'))?.status?.readyReplicas).toBe(3));
  await fleet().patchPool(namespace, 'web', { template: withMemory('65Mi') });
}

test('the rollout that waits is the first thing on the page, and its button lets it continue', async () => {
  const namespace = await fleet().namespace();
  await waitingPool(namespace);
  const page = await opened({ namespace });
  await page.locator('.needs').getByRole('button', { name: 'Promote web' }).waitFor();
  const read = (await page.locator('main').innerText()).split('\n').filter((line) => line.trim() !== '');
  // Operations of the whole cluster that other tests have paused are there, too, and less urgent.
  expect(read[0]).toMatch(/^\d+ things? needs? a person$/);
  expect(read.slice(1, 4).join(' ')).toMatch(/rollout of .*web waits for approval/i);
  const rows = page.getByRole('grid');
  await expect.poll(() => rows.count()).toBe(2);
  await untilAccessible(page);

  await page.locator('.needs').getByRole('button', { name: 'Promote web' }).click();
  await page.getByRole('dialog').getByLabel('Reason').fill('it runs well');
  await page.getByRole('dialog').getByRole('button', { name: 'Promote' }).click();
  await expect.poll(() => resultOf(page)).toContain('promoted');
  await page.locator('.needs').getByRole('button', { name: 'Promote web' }).waitFor({ state: 'detached' });
  const [handled] = (await fleet().pool(namespace, 'web'))!.status!.rollout!.handledRequests!;
  expect(handled).toMatchObject({ action: 'promote', reason: 'it runs well', outcome: 'Done' });

  // While VMs go from one row to the other, the square under the pointer may be another's.
  await expect.poll(() => rows.count()).toBe(1);
  await page.getByRole('gridcell', { name: /^web-1:/ }).click();
  await page.getByRole('heading', { level: 1, name: 'web-1' }).waitFor();
  await page.getByText('Running').first().waitFor();
});

test('a user who may only look has a page that says why each button does nothing', async () => {
  const namespace = await fleet().namespace();
  await fleet().createPool(namespace, 'web', { replicas: 1 });
  const { kubeconfig } = await userWith(fleet(), namespace, 'viewer', [
    { apiGroups: ['drover.dev'], resources: ['virtualmachinepools'], verbs: ['get', 'list', 'watch'] },
    { apiGroups: ['kubevirt.io'], resources: ['virtualmachines'], verbs: ['get', 'list', 'watch'] },
  ]);
  const page = await opened({ namespace }, kubeconfig);
  await page.getByText(/^Not shown: .*\bnodes\b/).waitFor();
  await page.getByRole('article').getByRole('link', { name: 'web', exact: true }).click();
  const button = page.getByRole('button', { name: 'Pause web', exact: true });
  await expect.poll(() => button.getAttribute('aria-disabled')).toBe('true');
  await button.focus();
  await expect
    .poll(() => page.getByRole('tooltip').filter({ visible: true }).innerText())
    .toContain('you may not patch');
});

test('a read-only page says so', async () => {
  const page = await opened({ isReadOnly: true, namespace: await fleet().namespace() });
  await page.getByText('read-only', { exact: true }).waitFor();
});
