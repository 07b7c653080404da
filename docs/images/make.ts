import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import {
  Namespaces,
  VirtualMachineInstances,
  VirtualMachineOperations,
  VirtualMachinePools,
  VirtualMachineReplicaSets,
  VirtualMachines,
} from '../../api/resources.ts';
import { startDashboard } from '../../clients/dashboard/dashboard.ts';
import { prepare } from '../../clients/dev/prepare.ts';
import { Session } from '../../clients/session/session.ts';
import { startStack } from '../../dev/stack.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { startChromium } from '../../test/clients/dashboard/page/fixture/chromium.ts';
import { byApproval } from '../../test/clients/rollout/pools.ts';

/** Makes the pictures of the dashboard from its own stack: `node docs/images/make.ts`. It takes some minutes. */
const TIMEOUT_MS = 300_000;
const SIZE = { width: 1280, height: 860 };

const template = (memory: string) => ({
  spec: {
    runStrategy: 'Always',
    template: {
      metadata: { annotations: { 'sim.drover.dev/boot-time': '2s' } },
      spec: { domain: { devices: {}, memory: { guest: memory } } },
    },
  },
});

/** Pools, a set and an operation, in which something of most kinds happens. */
async function fill(kube: KubeClient): Promise<void> {
  for (const name of ['shop', 'data', 'render']) await kube.create(Namespaces, { metadata: { name } });
  const pools = [
    {
      metadata: { namespace: 'shop', name: 'web' },
      spec: { replicas: 24, maxUnavailable: '25%', template: template('64Mi'), rollout: byApproval('25%', '50%') },
    },
    { metadata: { namespace: 'data', name: 'db' }, spec: { replicas: 6, template: template('64Mi') } },
    {
      metadata: { namespace: 'render', name: 'frames' },
      spec: { replicas: 150, maxUnavailable: 6, template: template('64Mi') },
    },
  ];
  for (const pool of pools) await kube.create(VirtualMachinePools, pool);
  const labels = { app: 'cache' };
  await kube.create(VirtualMachineReplicaSets, {
    metadata: { namespace: 'shop', name: 'cache' },
    spec: { replicas: 10, selector: { matchLabels: labels }, template: { metadata: { labels }, ...template('64Mi') } },
  });
}

/** A rollout that waits, a VM that no node takes, and an operation in progress. */
async function disturb(kube: KubeClient): Promise<void> {
  await kube.patch(VirtualMachinePools, { namespace: 'shop', name: 'web' }, 'merge', {
    spec: { template: template('65Mi') },
  });
  const annotations = { 'sim.drover.dev/unschedulable': 'true' };
  const db4 = { namespace: 'data', name: 'db-4' };
  await kube.patch(VirtualMachines, db4, 'merge', { spec: { template: { metadata: { annotations } } } });
  await kube.delete(VirtualMachineInstances, db4);
  await kube.create(VirtualMachineOperations, {
    metadata: { namespace: 'render', name: 'restart-frames' },
    spec: {
      action: 'Restart',
      vms: { owner: { kind: 'VirtualMachinePool', name: 'frames' } },
      atOnce: 6,
      reason: 'new kernel',
    },
  });
}

async function shoot(page: Page, name: string): Promise<void> {
  await page.mouse.move(0, 0);
  await page.screenshot({ path: join(import.meta.dirname, `${name}.png`) });
}

const state = mkdtempSync(join(tmpdir(), 'drover-images-'));
const stack = await startStack({ state, ephemeral: true, prepare: (env) => prepare(env, 'default') });
const session = new Session({ cluster: 'default', namespace: 'default', state: stack.state });
const browser = await startChromium();
try {
  await fill(await session.kube());
  const running = await startDashboard(session, { namespace: undefined, port: 0, isReadOnly: false });
  const context = await browser.newContext({ viewport: SIZE, deviceScaleFactor: 1.5, colorScheme: 'light' });
  const page = await context.newPage();
  page.setDefaultTimeout(TIMEOUT_MS);
  await page.goto(running.url);
  await page.locator('.summary').filter({ hasText: '190 of 190 VMs ready' }).waitFor();
  await disturb(await session.kube());
  await page.locator('.needs').getByRole('button', { name: 'Promote web' }).waitFor();
  await page.getByRole('article', { name: 'db' }).locator('[data-s="D"], [data-s="F"]').first().waitFor();
  await page
    .getByRole('article', { name: 'frames' })
    .locator('[data-s="U"], [data-s="S"], [data-s="D"]')
    .first()
    .waitFor();
  await shoot(page, 'dashboard');
  await page.emulateMedia({ colorScheme: 'dark' });
  await shoot(page, 'dashboard-dark');
  await page.emulateMedia({ colorScheme: 'light' });
  await page.goto(`${new URL(running.url).origin}/#/vm/data/db-4`);
  await page.locator('.because').waitFor();
  await page.locator('.facts dd').first().waitFor();
  await shoot(page, 'dashboard-vm');
  await running.close();
} finally {
  await browser.close();
  await session.close();
  await stack.stop();
  rmSync(state, { recursive: true, force: true });
}
