import { byNumber } from '../../decisions/lib/names.ts';
import type { Versions } from './versions.ts';

/** The oldest Kubernetes whose admission policies can ask who may do what: see docs/security.md. */
export const OLDEST_KUBERNETES = [1, 30] as const;

/** Returns a sentence for each two parts that do not go together. Says nothing about what is unknown. */
export function skewOf({ client, definitions, workers, kubernetes }: Versions): string[] {
  const running = Array.isArray(workers) ? workers : [];
  const [worker, ...others] = running;
  const installed = typeof definitions === 'string' ? definitions : undefined;
  return [
    others.length > 0 &&
      `workers of ${running.length} versions serve this cluster (${running.join(', ')}): after an upgrade only one should be left`,
    worker !== undefined &&
      others.length === 0 &&
      worker !== client &&
      `the workers run drover ${worker}, and this command is drover ${client}: use the same`,
    installed !== undefined &&
      worker !== undefined &&
      !running.includes(installed) &&
      `the definitions come from drover ${installed}, and the workers of ${running.join(', ')}: run \`drover setup\` of the newer one, and upgrade the workers`,
    installed !== undefined &&
      worker === undefined &&
      installed !== client &&
      `the definitions come from drover ${installed}, and this command is drover ${client}: use the same`,
    typeof kubernetes === 'string' &&
      isTooOld(kubernetes) &&
      `Kubernetes is older than ${OLDEST_KUBERNETES.join('.')}, which drover needs for its admission policies: the requester of an operation is not checked`,
  ].filter((sentence) => typeof sentence === 'string');
}

/** `gitVersion`: as the API server tells its own, such as `v1.35.4+k3s1`. */
export const isTooOld = (gitVersion: string): boolean =>
  byNumber(gitVersion.replace(/^v/, ''), OLDEST_KUBERNETES.join('.')) < 0;
