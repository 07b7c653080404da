import type { KubeClient } from '../../kubernetes/client.ts';
import { isTooOld, OLDEST_KUBERNETES } from '../version/skew.ts';
import { kubernetesOf } from '../version/versions.ts';
import { failed, ok, warning, type Found } from './finding.ts';

/** Windows, backoffs and deadlines are read in whole seconds; a request names its second, too. */
const MOST_SKEW_MS = 5_000;

/** Throws if the API server does not answer. */
export async function lookAtApiServer(kube: KubeClient): Promise<Found> {
  const gitVersion = await kubernetesOf(kube);
  const where = `Kubernetes ${gitVersion} answers at ${kube.server}`;
  if (!isTooOld(gitVersion)) return ok(where);
  return failed(
    `${where}, but it knows no admission policies: nothing checks who asks for an operation`,
    `upgrade Kubernetes to ${OLDEST_KUBERNETES.join('.')} or newer`,
  );
}

/** Compares this machine's clock with that of the API server, as its answers have told it so far. */
export function lookAtClock({ clock }: KubeClient): Found {
  const aheadMs = clock.now() - Date.now();
  if (Math.abs(aheadMs) <= MOST_SKEW_MS) return ok("this machine's clock and the API server's agree");
  const seconds = Math.round(Math.abs(aheadMs) / 1000);
  return warning(
    `the API server's clock is ${seconds} s ${aheadMs > 0 ? 'ahead of' : 'behind'} this machine's: ages and windows are shown wrongly`,
    'set both by NTP; workers go by the clock of the API server',
  );
}
