/** Imported for its effect alone: Vite puts it into the page's style sheet. */
declare module '*.css';
