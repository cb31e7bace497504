/** Checks files and folders of the configuration that must not be the same. */
import { join } from 'node:path';
import type { z } from 'zod';

interface Places {
  readonly dataDir: string;
  readonly store: { readonly backup: { readonly directory: string | null } };
  readonly intake: {
    readonly database: string | null;
    readonly folder: { readonly path: string | null };
  };
  readonly reports: {
    readonly schedules: readonly {
      readonly to: { readonly folder?: { readonly path: string } | undefined };
    }[];
  };
}

/** Checks that documents of the ERP are not submitted among the daemon's own files. */
export function placesApart(
  { dataDir, store, intake, reports }: Places,
  ctx: z.RefinementCtx,
): void {
  const { database, folder } = intake;
  if (database === join(dataDir, 'mirror.db')) {
    const message = 'is the mirror itself, which no other program may write';
    const hint = 'name another file, or null for exchange.db in dataDir';
    ctx.addIssue({ code: 'custom', path: ['intake', 'database'], message, params: { hint } });
  }
  for (const [index, { to }] of reports.schedules.entries()) {
    if (to.folder === undefined || to.folder.path !== folder.path) continue;
    const message = 'is where documents are submitted: a report would be taken for one';
    const path = ['reports', 'schedules', index, 'to', 'folder', 'path'];
    ctx.addIssue({ code: 'custom', path, message, params: { hint: 'name another folder' } });
  }
  const own = [dataDir, store.backup.directory ?? join(dataDir, 'backups')];
  if (folder.path === null || !own.includes(folder.path)) return;
  const message = "holds *.json files of the daemon's own, which would be taken for documents";
  const hint = 'name a folder that holds nothing else';
  ctx.addIssue({ code: 'custom', path: ['intake', 'folder', 'path'], message, params: { hint } });
}
