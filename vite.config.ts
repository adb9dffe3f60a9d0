import { defineConfig } from 'vite';

/** The page: `npm run build:web` writes `dist-web`, which the control plane serves; `npm run web` builds at every change. */
export default defineConfig({
  root: 'src/web',
  // Nothing of the page comes from elsewhere, and no file of it is put into another as a data: address.
  build: { outDir: '../../dist-web', emptyOutDir: true, assetsInlineLimit: 0, target: 'es2022', modulePreload: false },
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  logLevel: 'warn',
});
