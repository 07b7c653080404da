import { existsSync } from 'node:fs';
import { KubeConfig } from '@kubernetes/client-node';

export interface KubeConfigChoice {
  /** Path of a kubeconfig file; else `KUBECONFIG`, `~/.kube/config` or the pod's service account, as kubectl does. */
  kubeconfig?: string | undefined;
  context?: string | undefined;
}

/** Thrown where there is no cluster to talk to; the message says what to give. */
export class KubeConfigError extends Error {
  override readonly name = 'KubeConfigError';
}

export function loadKubeConfig(choice: KubeConfigChoice = {}): KubeConfig {
  const config = new KubeConfig();
  try {
    if (choice.kubeconfig === undefined) config.loadFromDefault();
    else if (existsSync(choice.kubeconfig)) config.loadFromFile(choice.kubeconfig);
    else throw new Error('no such file');
  } catch (error) {
    const where = choice.kubeconfig ?? process.env['KUBECONFIG'] ?? 'the default kubeconfig';
    throw new KubeConfigError(`kubeconfig ${where}: ${(error as Error).message}; give a readable one with --kubeconfig`);
  }
  if (choice.context !== undefined) {
    if (config.getContextObject(choice.context) === null) {
      const known = config.getContexts().map((context) => context.name).join(', ');
      throw new KubeConfigError(`--context ${choice.context}: not in the kubeconfig, which has ${known || 'none'}`);
    }
    config.setCurrentContext(choice.context);
  }
  if (config.getCurrentCluster() === null) {
    throw new KubeConfigError('the kubeconfig has no current cluster; give --kubeconfig, or --context with one of its contexts');
  }
  return config;
}
