import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { VirtualMachineOperations } from '../../../../api/resources.ts';
import type { StoredOperation } from '../../../../decisions/views/stored-operation.ts';
import { aFleet, runningTemplate, until } from '../../../integration/fleet.ts';
import { nowhere } from '../../drover.ts';
import { droverHere } from '../../in-process.ts';
import { aBrowser, untilAccessible } from './fixture/browser.ts';
import { aDashboard, openedAt, show } from './fixture/dashboards.ts';

const fleet = aFleet();
const browser = aBrowser();

const opened = async (namespace: string): Promise<Page> =>
  openedAt(browser(), (await aDashboard(fleet().stack.kubeconfig, { namespace })).url);
const rows = async (page: Page): Promise<string[]> =>
  (await page.locator('section:has(#log-title) tbody tr').allInnerTexts()).map((text) =>
    text.replaceAll(/\s+/g, ' ').trim(),
  );

/** Makes an operation, and resolves with its name when it is over. */
async function done(namespace: string, name: string, spec: StoredOperation['spec']): Promise<void> {
  const { kube } = fleet();
  await kube.create<StoredOperation>(VirtualMachineOperations, { metadata: { namespace, name }, spec });
  await until(async () => {
    const { status } = await kube.get<StoredOperation>(VirtualMachineOperations, { namespace, name });
    expect(status?.completionTime).toBeDefined();
  });
}

test('the page of an operation has its log, VM by VM, as the command has it, and finds lines in it', async () => {
  const namespace = await fleet().namespace();
  await fleet().createPool(namespace, 'web', { replicas: 3, template: runningTemplate });
  await until(async () => expect((await fleet().pool(namespace, 'web'))?.status?.readyReplicas).toBe(3));
  await done(namespace, 'restart-web', { action: 'Restart', vms: { names: ['web-1', 'web-2', 'web-3'] } });
  const page = await opened(namespace);
  await show(page, `#/vmop/${namespace}/restart-web`, 'restart-web');
  await until(async () => expect((await rows(page)).filter((row) => row.includes('Restarted'))).toHaveLength(3));
  const { stdout } = await droverHere(['operations', 'logs', 'restart-web', '-n', namespace], {
    ...nowhere,
    ...fleet().stack.env,
  });
  expect(stdout).toMatch(/restart .*web-1.*Restarted/);
  await untilAccessible(page);
  const field = page.getByRole('searchbox', { name: 'Find in the log' });
  await field.fill('web-2');
  await field.press('Enter');
  await until(async () => expect((await rows(page)).filter((row) => row.includes('Restarted'))).toHaveLength(1));
  expect(page.url()).toContain('find=web-2');
  await page.getByRole('link', { name: `${namespace}/web-2` }).click();
  await page.getByRole('heading', { level: 1, name: 'web-2' }).waitFor();
});
