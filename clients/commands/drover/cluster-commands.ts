import { InvalidArgumentError, Option } from 'commander';
import { namespacesIn } from '../../../api/claims/claim.ts';
import { faultOf } from '../../../workers/settings/schema.ts';
import { dryRunOption, examples, formatOption } from '../../cli/options.ts';
import type { WorkerAccount } from '../../doctor/rights.ts';
import { Command } from '../command.ts';

export const setupCommand = (): Command =>
  new Command('setup')
    .description('prepare the cluster and Temporal: custom resources, search attributes, the watch workflow')
    .addOption(
      new Option(
        '--only-namespace <names>',
        'for workers that serve only these namespaces, such as shop,bank, with rights only in them',
      )
        .env('DROVER_NAMESPACE')
        .argParser(namespacesIn),
    )
    .addOption(
      new Option('--shards <number>', 'into how many shards the cluster is divided from now on')
        .env('DROVER_SHARDS')
        .argParser(shardsIn),
    )
    .addOption(dryRunOption())
    .examples(
      ['Once for each cluster; again after an upgrade of drover', 'drover setup'],
      [
        "A namespace alone, by its admin, once the cluster has drover's custom resources",
        'drover setup --only-namespace shop',
      ],
      ['A second cluster on the same Temporal', 'drover setup --cluster east --context east'],
    )
    .does(async () => (await import('../../setup/setup.ts')).setUpCluster);

export const doctorCommand = (): Command =>
  new Command('doctor')
    .description(
      'check everything that drover needs, and say how to fix what is wrong; the exit code is 1 if a check failed',
    )
    .addOption(workerOption())
    .addOption(formatOption(['json', 'yaml']))
    .addHelpText(
      'after',
      `
It looks at the API server, your rights and the workers', drover's custom resources and admission policies, KubeVirt,
CDI, the clock, Temporal, and the workers that run. It changes nothing: what it has to try is a dry run.
${examples(
  ['After an installation or an upgrade', 'drover doctor'],
  [
    'The checks that failed, for a script',
    'drover doctor -o json | jq -r \'.items[] | select(.outcome == "Failed").check\'',
  ],
)}`,
    )
    .does(async () => (await import('../../doctor/doctor.ts')).doctor);

export const versionCommand = (): Command =>
  new Command('version')
    .description('show the versions of drover, its workers and definitions, Temporal, KubeVirt and Kubernetes')
    .addOption(formatOption(['json', 'yaml']))
    .option('--client', 'only the version of this command, without asking a server')
    .examples(
      ['What runs, and whether the versions match', 'drover version'],
      ["The workers' versions, for a script", 'drover version -o json | jq -r .workers[]'],
    )
    .does(async () => (await import('../../version/version-rows.ts')).printVersions);

function shardsIn(text: string): number {
  const fault = faultOf('worker.shards', text);
  if (fault !== undefined) throw new InvalidArgumentError(`It ${fault}.`);
  return Number(text);
}

/** The workers' ServiceAccount: by default that of drover's manifests. */
const workerOption = (): Option =>
  new Option('--worker <namespace/name>', "the workers' ServiceAccount")
    .argParser(accountOf)
    .default({ namespace: 'drover', name: 'drover-worker' }, 'drover/drover-worker');

function accountOf(text: string): WorkerAccount {
  const [namespace, name, ...rest] = text.split('/');
  if (!namespace || !name || rest.length > 0) throw new InvalidArgumentError('Give NAMESPACE/NAME.');
  return { namespace, name };
}
