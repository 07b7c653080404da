import type { Session } from '../session/session.ts';
import { Assets } from './server/assets.ts';
import { serve, type RunningServer } from './server/server.ts';
import { openUserDashboard } from './user-dashboard.ts';

export interface DashboardOptions {
  /** Undefined: all that the user may see. */
  namespace: string | undefined;
  /** 0: any that is free. */
  port: number;
  isReadOnly: boolean;
}

/** Serves the page to its user alone, until it is closed. Resolves once it can be opened, before all is known. */
export async function startDashboard(session: Session, options: DashboardOptions): Promise<RunningServer> {
  const dashboard = await openUserDashboard(session, options);
  const server = await serve(dashboard.answers, new Assets(), options.port);
  dashboard.start();
  return {
    ...server,
    close: async () => {
      await Promise.all([server.close(), dashboard.close()]);
    },
  };
}
