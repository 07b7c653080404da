import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { expect, onTestFinished, test } from 'vitest';
import { startDashboard, type DashboardOptions } from '../../../../clients/dashboard/dashboard.ts';
import { Session } from '../../../../clients/session/session.ts';
import { aFleet, runningTemplate, until } from '../../../integration/fleet.ts';
import { userWith } from '../../../integration/operations/operations.ts';
import { byApproval } from '../../rollout/pools.ts';
import { aBrowser, aContext, axeFindings } from './fixture/browser.ts';

const fleet = aFleet();
const browser = aBrowser();

/** Opens the address that the command prints. */
async function opened(options: Partial<DashboardOptions> = {}, kubeconfig = fleet().stack.kubeconfig): Promise<Page> {
  const session = new Session({ kubeconfig, cluster: 'default' });
  const running = await startDashboard(session, { namespace: undefined, port: 0, isReadOnly: false, ...options });
  onTestFinished(async () => {
    await running.close();
    await session.close();
  });
  const page = await (await aContext(browser())).newPage();
  page.setDefaultTimeout(60_000);
  await page.goto(running.url);
  await page.locator('[data-live="live"]').waitFor();
  expect(page.url()).not.toContain('token');
  return page;
}

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

/** Presses a button of the pool, answers its question, and waits until the page tells what came of it. */
async function press(page: Page, button: string, told: RegExp): Promise<void> {
  await page
    .getByRole('button', { name: `${button} web`, exact: true })
    .first()
    .click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Reason').fill('asked for by a test');
  const name = dialog.getByLabel('Type web to confirm');
  if ((await name.count()) > 0) await name.fill('web');
  await dialog.getByRole('button', { name: button, exact: true }).click();
  await page.locator('.told').filter({ hasText: told }).waitFor();
}

test('which rollout waits is the first thing on the page, and its button lets it go on', async () => {
  const namespace = await fleet().namespace();
  await waitingPool(namespace);
  const page = await opened({ namespace });
  await page.locator('.needs li').waitFor();
  const read = (await page.locator('main').innerText()).split('\n').filter((line) => line.trim() !== '');
  expect(read[0]).toBe('1 thing needs a person');
  expect(read.slice(1, 4).join(' ')).toMatch(/rollout of .*web waits for approval/i);
  const rows = page.getByRole('grid');
  await until(async () => expect(await rows.count()).toBe(2));
  expect(await axeFindings(page)).toEqual([]);

  await page.locator('.needs').getByRole('button', { name: 'Promote web' }).click();
  await page.getByRole('dialog').getByLabel('Reason').fill('it runs well');
  await page.getByRole('dialog').getByRole('button', { name: 'Promote' }).click();
  await page.locator('.told').filter({ hasText: 'promoted' }).waitFor();
  await page.getByText('Nothing needs a person').waitFor();
  const [handled] = (await fleet().pool(namespace, 'web'))!.status!.rollout!.handledRequests!;
  expect(handled).toMatchObject({ action: 'promote', why: 'it runs well', outcome: 'Done' });

  await page.getByRole('gridcell', { name: /^web-1:/ }).click();
  await page.getByRole('heading', { level: 1, name: 'web-1' }).waitFor();
  await page.getByText('Running').first().waitFor();
});

test('each button of a rollout does what its command does', async () => {
  const namespace = await fleet().namespace();
  await waitingPool(namespace);
  const page = await opened({ namespace });
  await page.locator('.needs li').waitFor();
  await page.getByRole('article').getByRole('link', { name: 'web', exact: true }).click();
  const rollout = async () => (await fleet().pool(namespace, 'web'))!.status!.rollout!;
  await press(page, 'Pause', /paused/);
  expect((await rollout()).paused).toMatchObject({ why: 'asked for by a test' });
  await press(page, 'Resume', /resumed/);
  expect((await rollout()).paused).toBeUndefined();
  await press(page, 'Abort', /aborted/);
  expect((await rollout()).halted).toMatchObject({ kind: 'Aborted' });
  await press(page, 'Undo', /.+/);
  await until(async () => expect((await fleet().pool(namespace, 'web'))!.spec.template).toEqual(runningTemplate));
});

test('a user who may only look has a page that says why each button does nothing', async () => {
  const namespace = await fleet().namespace();
  await fleet().createPool(namespace, 'web', { replicas: 1 });
  await userWith(fleet(), namespace, 'viewer', [
    { apiGroups: ['drover.dev'], resources: ['virtualmachinepools'], verbs: ['get', 'list', 'watch'] },
    { apiGroups: ['kubevirt.io'], resources: ['virtualmachines'], verbs: ['get', 'list', 'watch'] },
  ]);
  const page = await opened({ namespace }, join(fleet().stack.state, `${namespace}-viewer.kubeconfig`));
  await page.getByText('Not shown: nodes').waitFor();
  await page.getByRole('article').getByRole('link', { name: 'web', exact: true }).click();
  const button = page.getByRole('button', { name: 'Pause web', exact: true });
  await until(async () => expect(await button.getAttribute('aria-disabled')).toBe('true'));
  await button.focus();
  expect(await page.getByRole('tooltip').filter({ visible: true }).innerText()).toContain('you may not patch');
});

test('a read-only page says so', async () => {
  const page = await opened({ isReadOnly: true, namespace: await fleet().namespace() });
  await page.getByText('read-only', { exact: true }).waitFor();
});
