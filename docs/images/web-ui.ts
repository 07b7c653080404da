import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startChromium } from '../../test/clients/dashboard/page/fixture/chromium.ts';

/**
 * Makes the pictures of Temporal's Web UI in this folder, by a browser, of a pool whose rollout waits for an approval:
 * `eval "$(npx drover dev --detach --ephemeral)" && npx node docs/images/web-ui.ts`.
 */
const { TEMPORAL_UI: ui } = process.env;
if (ui === undefined) throw new Error('TEMPORAL_UI is not set: start a stack by eval "$(npx drover dev --detach)"');

const NAME = 'pool/default/default/web';
const pathOf = (name: string): string => fileURLToPath(new URL(name, import.meta.url));
const drover = (...args: string[]): string =>
  execFileSync(process.execPath, [pathOf('../../clients/bin.js'), ...args], { encoding: 'utf8' });

const manifestWith = (cores: number): string => `apiVersion: drover.dev/v1alpha1
kind: VirtualMachinePool
metadata: { name: web }
spec:
  replicas: 10
  rollout: { steps: [{ to: 2, then: { approval: {} } }] }
  template:
    spec:
      runStrategy: Always
      template: { spec: { domain: { cpu: { cores: ${cores} }, memory: { guest: 64Mi }, devices: {} } } }
`;

const folder = mkdtempSync(join(tmpdir(), 'drover-pictures-'));
const browser = await startChromium();
try {
  const manifest = join(folder, 'pool.yaml');
  writeFileSync(manifest, manifestWith(1));
  drover('apply', '-f', manifest, '--wait');
  writeFileSync(manifest, manifestWith(2));
  drover('apply', '-f', manifest);
  let status = '';
  while (!status.includes('WaitingForApproval')) status = drover('rollout', 'status', 'pool', 'web');

  const page = await browser.newPage({ viewport: { width: 1400, height: 900 } });
  page.setDefaultTimeout(120_000);
  const picture = (name: string): Promise<unknown> => page.screenshot({ path: pathOf(`${name}.png`) });
  await page.goto(`${ui}/namespaces/default/workflows`);
  await page.getByText(NAME, { exact: true }).first().waitFor();
  await picture('web-ui-workflows');
  await page.getByText(NAME, { exact: true }).first().click();
  await page.getByText('createVms').first().waitFor();
  await picture('web-ui');
} finally {
  await browser.close();
  drover('delete', 'pool', 'web');
  rmSync(folder, { recursive: true });
}
