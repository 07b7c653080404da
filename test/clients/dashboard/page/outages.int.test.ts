import type { Page } from 'playwright-core';
import { expect, onTestFinished, test } from 'vitest';
import { ServiceAccounts } from '../../../../api/resources.ts';
import { chaosProxy, type Fate } from '../../../integration/chaos-proxy.ts';
import { aFleet, namesUpTo, until } from '../../../integration/fleet.ts';
import { signIn, userWith } from '../../../integration/operations/operations.ts';
import { spawnReaped } from '../../../reaped.ts';
import { BIN, follow, nowhere, outcomeOf } from '../../drover.ts';
import { aBrowser, textIn } from './fixture/browser.ts';
import { aDashboard, isLive, openedAt, show } from './fixture/dashboards.ts';

const fleet = aFleet({ ownStack: true });
const browser = aBrowser();

/** A pool of VMs that do not run. */
async function aPool(replicas: number): Promise<string> {
  const namespace = await fleet().namespace();
  await fleet().createPool(namespace, 'web', { replicas });
  await fleet().settled(namespace, 'web', namesUpTo('web', replicas));
  return namespace;
}

const is = (page: Page, live: string): Promise<void> => page.locator(`[data-live="${live}"]`).waitFor();
async function squares(page: Page, count: number): Promise<void> {
  await expect.poll(() => page.getByRole('gridcell').count()).toBe(count);
}
const reads = ['get', 'list', 'watch'];
const rule = (...resources: string[]) => ({ apiGroups: ['drover.dev', 'kubevirt.io'], resources, verbs: reads });

test('a page keeps what it knew of a VM while the API server is killed, says so, and then shows what has happened', async () => {
  const namespace = await aPool(2);
  const { url } = await aDashboard(fleet().stack.kubeconfig, { namespace });
  const page = await openedAt(browser(), url);
  await show(page, `#/vm/${namespace}/web-1`, 'web-1');
  await page.getByText('VirtualMachinePool/web').waitFor();
  fleet().stack.kill('kube-apiserver', 'SIGKILL');
  await is(page, 'cut-off');
  await expect.poll(() => textIn(page, '.banner')).toContain('The API server has not answered for');
  await page.getByText('This could not be read again').first().waitFor();
  await expect.poll(() => page.getByText('VirtualMachinePool/web').count()).toBe(1);
  await fleet().stack.restart('kube-apiserver');
  await fleet().patchPool(namespace, 'web', { replicas: 3 });
  await isLive(page);
  await expect.poll(() => page.getByText('This could not be read again').count()).toBe(0);
  await show(page, `#/pool/${namespace}/web`, 'web');
  await squares(page, 3);
  // An API server that has just begun may still refuse what it will let the user see.
  await expect.poll(() => page.locator('.banner').count()).toBe(0);
});

test('a slow API server is none that does not answer', async () => {
  const namespace = await aPool(2);
  let isSlow = false;
  const { kubeconfig, calls } = await chaosProxy(fleet().stack.kubeconfig, async (): Promise<Fate> => {
    if (isSlow) await new Promise((resolve) => setTimeout(resolve, 2_500));
    return 'pass';
  });
  const page = await openedAt(browser(), (await aDashboard(kubeconfig, { namespace })).url);
  await page.evaluate(`{
    window.seen = new Set();
    new MutationObserver(() => window.seen.add(document.querySelector('[data-live]').dataset.live))
      .observe(document.querySelector('header'), { subtree: true, attributes: true });
  }`);
  isSlow = true;
  const asked = (): number => calls.filter((call) => call.startsWith('GET /version')).length;
  const before = asked();
  await until(async () => expect(asked()).toBeGreaterThan(before + 3));
  await expect.poll(() => page.evaluate('[...window.seen].filter((state) => state !== "live")')).toEqual([]);
});

test('a user whose credentials are rejected is told to sign in again, and does not need to open the page anew', async () => {
  const namespace = await aPool(2);
  const { kubeconfig } = await userWith(fleet(), namespace, 'ada', [rule('virtualmachinepools', 'virtualmachines')]);
  const page = await openedAt(browser(), (await aDashboard(kubeconfig, { namespace })).url);
  await squares(page, 2);
  await fleet().kube.delete(ServiceAccounts, { namespace, name: 'ada' });
  await is(page, 'refused');
  await expect
    .poll(() => textIn(page, '.banner'))
    .toMatch(/has rejected your credentials.* Sign in again.* rejected these credentials/);
  await squares(page, 2);
  await fleet().patchPool(namespace, 'web', { replicas: 3 });
  await fleet().kube.create(ServiceAccounts, { metadata: { namespace, name: 'ada' } });
  await signIn(fleet(), namespace, 'ada');
  await isLive(page);
  await squares(page, 3);
});

test('a user whose right is withdrawn is told what is old, and sees what is new once they have it again', async () => {
  const namespace = await aPool(2);
  const { kubeconfig: own, setRules } = await userWith(fleet(), namespace, 'bob', [
    rule('virtualmachinepools', 'virtualmachines'),
  ]);
  const proxy = await chaosProxy(own, () => 'pass');
  const page = await openedAt(browser(), (await aDashboard(proxy.kubeconfig, { namespace })).url);
  await squares(page, 2);
  await setRules([rule('virtualmachinepools')]);
  // A watch that runs goes on.
  proxy.cut();
  await page.locator('.banner').filter({ hasText: 'you may no longer list and watch them' }).waitFor();
  await expect
    .poll(() => textIn(page, '.banner'))
    .toContain(`What you see of virtualmachines in ${namespace} is from `);
  await fleet().patchPool(namespace, 'web', { replicas: 3 });
  await page.getByText('/1 ready').waitFor();
  await isLive(page);
  await setRules([rule('virtualmachinepools', 'virtualmachines')]);
  await squares(page, 3);
  await expect.poll(() => page.locator('.banner').count()).toBe(0);
});

test('a tab whose dashboard is killed and started again on its port follows it once the new address is opened', async () => {
  const namespace = await aPool(2);
  const env = { ...nowhere, ...fleet().stack.env };
  const command = async (...more: string[]) => {
    // The tests' own program has no page.
    const child = spawnReaped(process.execPath, [BIN, 'dashboard', '-n', namespace, '--no-browser', ...more], {
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const ended = outcomeOf(child);
    onTestFinished(async () => {
      child.kill('SIGKILL');
      await ended;
    });
    let printed = '';
    child.stdout!.on('data', (chunk: Buffer) => (printed += chunk.toString()));
    await follow(child.stdout!)('\n');
    return { url: printed.trim(), child, ended };
  };
  const first = await command();
  const page = await openedAt(browser(), first.url);
  await squares(page, 2);
  first.child.kill('SIGKILL');
  await first.ended;
  await is(page, 'reconnecting');
  await expect.poll(() => textIn(page, '.banner')).toContain('start it again and open the address');
  const { url } = await command('--port', new URL(first.url).port);
  await is(page, 'signed-out');
  await squares(page, 2);
  await fleet().patchPool(namespace, 'web', { replicas: 3 });
  const other = await page.context().newPage();
  await other.goto(url);
  await isLive(other);
  await page.bringToFront();
  await isLive(page);
  await squares(page, 3);
});
