import type { Page } from 'playwright-core';
import { expect, onTestFinished, test } from 'vitest';
import { Nodes } from '../../../../api/resources.ts';
import type { Node } from '../../../../decisions/from-object/node.ts';
import { TestDrain } from '../../../integration/drain/drains.ts';
import { aFleet } from '../../../integration/fleet.ts';
import { userWith } from '../../../integration/operations/operations.ts';
import { aBrowser, untilAccessible } from './fixture/browser.ts';
import { aDashboard, openedAt, press, REASON, resultOf, show } from './fixture/dashboards.ts';

const fleet = aFleet();
const browser = aBrowser();

const opened = async (kubeconfig: string, isReadOnly = false): Promise<Page> =>
  openedAt(browser(), (await aDashboard(kubeconfig, { isReadOnly })).url);
const nodeNamed = (name: string): Promise<Node> => fleet().kube.get<Node>(Nodes, { name });
const whyNot = async (page: Page, button: string): Promise<string> => {
  const disabled = page.getByRole('button', { name: button, exact: true });
  await expect.poll(() => disabled.getAttribute('aria-disabled')).toBe('true');
  await disabled.focus();
  return page.getByRole('tooltip').filter({ visible: true }).innerText();
};

async function aPool(spec: object = {}): Promise<{ drain: TestDrain; node: string }> {
  const drain = await TestDrain.in(fleet());
  await drain.pool('web', { replicas: 3, maxUnavailable: 1, ...spec }, { 'sim.drover.dev/migration-time': '200ms' });
  const node = await drain.nodeOf('web-1');
  onTestFinished(() => drain.uncordon(node));
  return { drain, node };
}

test('a node is drained after its name was typed and what will happen was said, and the drain is cancelled', async () => {
  const { drain, node } = await aPool();
  const page = await opened(fleet().stack.kubeconfig);
  await show(page, '#/drains', 'Drains');
  await page.getByRole('heading', { name: 'Nodes with VMs' }).waitFor();
  await page.getByRole('link', { name: node, exact: true }).click();
  await expect
    .poll(() => whyNot(page, `Cancel drain ${node}`))
    .toBe(`node ${node} is not cordoned, and no VM on it was asked to leave`);
  await page.getByRole('button', { name: `Drain ${node}`, exact: true }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText('will be moved within the budget of its pool').first().waitFor();
  await untilAccessible(page);
  await dialog.getByRole('button', { name: 'Drain', exact: true }).click();
  // Without the name, the browser asks for it.
  expect((await nodeNamed(node)).spec?.unschedulable).toBeUndefined();
  await dialog.getByRole('button', { name: 'Cancel' }).click();
  await press(page, 'Drain', node, /cordoned, and .* asked to leave/);
  expect((await nodeNamed(node)).metadata.annotations).toMatchObject({ 'kubernetes.io/change-cause': REASON });
  await page.getByText(`node, drained: ${REASON}`).waitFor();
  await drain.left('web', 3, node);
  await page.getByText('No VM is on it.').waitFor();
  await untilAccessible(page);
  await page.getByRole('button', { name: `Cancel drain ${node}`, exact: true }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel drain', exact: true }).click();
  await expect.poll(() => resultOf(page)).toContain('uncordoned');
  // A node without VMs that is not drained has no buttons any more: the answer stays.
  await page.getByRole('button', { name: `Cancel drain ${node}`, exact: true }).waitFor({ state: 'detached' });
  await expect.poll(() => resultOf(page)).toContain('uncordoned');
  expect((await nodeNamed(node)).spec?.unschedulable).toBeUndefined();
});

test('a user who may not drain nodes is told so on the button, and so is a user who only looks', async () => {
  const { drain, node } = await aPool();
  const reads = { apiGroups: ['*'], resources: ['*'], verbs: ['get', 'list', 'watch'] };
  const { kubeconfig } = await userWith(fleet(), drain.namespace, 'viewer', [], [reads]);
  const page = await opened(kubeconfig);
  await show(page, `#/node/${node}`, node);
  await expect.poll(() => whyNot(page, `Drain ${node}`)).toBe('you may not patch nodes');
  const readOnly = await opened(fleet().stack.kubeconfig, true);
  await show(readOnly, `#/node/${node}`, node);
  await expect.poll(() => whyNot(readOnly, `Drain ${node}`)).toBe('this dashboard was started with --read-only');
});
