import { InvalidArgumentError, Option } from 'commander';

export interface WorkerOption {
  worker: { namespace: string; name: string };
}

/** The workers' ServiceAccount: by default that of drover's manifests. */
export const workerOption = (): Option =>
  new Option('--worker <namespace/name>', "the workers' ServiceAccount")
    .argParser(accountOf)
    .default({ namespace: 'drover', name: 'drover-worker' }, 'drover/drover-worker');

function accountOf(text: string): WorkerOption['worker'] {
  const [namespace, name, ...rest] = text.split('/');
  if (!namespace || !name || rest.length > 0) throw new InvalidArgumentError('Give NAMESPACE/NAME.');
  return { namespace, name };
}
