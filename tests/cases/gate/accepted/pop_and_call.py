# accepted
# keywords passed on
boxplot_kws.pop('bootstrap', None)
artists = ax.bxp(**boxplot_kws)
