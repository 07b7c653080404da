import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { stringify } from 'yaml';
import packageJson from '../../package.json' with { type: 'json' };

/**
 * Returns the manifest by which krew, the package manager of kubectl's plugins, installs `kubectl drover` from the file
 * that `npm pack` has made. `uri`: where krew downloads the file.
 */
export const krewManifest = (packed: string, uri: string): string =>
  stringify(
    {
      apiVersion: 'krew.googlecontainertools.github.com/v1alpha2',
      kind: 'Plugin',
      metadata: { name: 'drover' },
      spec: {
        version: `v${packageJson.version}`,
        shortDescription: 'Manages pools of KubeVirt VMs that drover runs',
        description: `Creates, scales, updates and heals fleets of KubeVirt VMs: pools with rolling
updates that halt on failure, operations on many VMs, drains of nodes.
Workers of drover must run in the cluster.
`,
        caveats: `Needs Node 22.19 or newer on the PATH.
For completion, kubectl needs a second program, kubectl_complete-drover, which krew can't install: the npm package has it.
`,
        platforms: [
          {
            selector: { matchExpressions: [{ key: 'os', operator: 'In', values: ['linux', 'darwin'] }] },
            uri,
            sha256: createHash('sha256').update(readFileSync(packed)).digest('hex'),
            files: [{ from: 'package/*', to: '.' }],
            bin: 'drover.mjs',
          },
        ],
      },
    },
    { lineWidth: 0 },
  );
