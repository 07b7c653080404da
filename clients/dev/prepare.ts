import { environmentWithoutTemporal } from '../../dev/services/environment.ts';
import { KubeClient } from '../../kubernetes/client.ts';
import { loadKubeConfig } from '../../kubernetes/config.ts';
import { connectTemporal } from '../session/temporal.ts';
import { setup } from '../setup/setup.ts';

/** Runs `drover setup` for the stack of this environment. */
export async function prepare(
  env: Record<string, string>,
  cluster: string,
  say: (line: string) => void = () => {},
): Promise<void> {
  // Settings for another Temporal, its TLS or API key, would keep us from this one.
  process.env = { ...environmentWithoutTemporal(process.env), ...env };
  const kube = new KubeClient(loadKubeConfig({ kubeconfig: env['KUBECONFIG'] }), { userAgent: 'drover-dev' });
  try {
    const temporal = await connectTemporal({});
    try {
      await setup({ kube, temporal, cluster, say });
    } finally {
      await temporal.connection.close();
    }
  } finally {
    await kube.close();
  }
}
