// SPDX-License-Identifier: MPL-2.0

extension PublicSuffixes {
    /// A selection of the list of publicsuffix.org, of 2023-02-09: the domains of companies that host others' content,
    /// and second-level domains of registries. `Scripts/public-suffixes` writes this file.
    static let compact = PublicSuffixes(
        groups: """
            ac: com drr edu gov mil net org
            academy: official
            ad: nom
            ae: ac blogspot co gov mil net org sch
            aero: accident-investigation accident-prevention aerobatic aeroclub aerodrome agents air-surveillance
            air-traffic-control aircraft airline airport airtraffic ambulance amusement association author ballooning
            broker caa cargo catering certification championship charter civilaviation club conference consultant
            consulting control council crew design dgca educator emergency engine engineer entertainment equipment
            exchange express federation flight fuel gliding government groundhandling group hanggliding homebuilt
            insurance journal journalist leasing logistics magazine maintenance media microlight modelling navigation
            parachuting paragliding passenger-association pilot press production recreation repbody res research
            rotorcraft safety scientist services show skydiving software student trader trading trainer union
            workinggroup works
            af: com edu gov net org
            ag: co com net nom org
            ai: com net off org uwu
            al: blogspot com edu gov mil net org
            am: blogspot co com commune neko net nyaa org radio
            ao: co ed gv it og pb
            app: *.beget *.developer *.northflank a.run bookonline clerk clerkstage deta easypanel edgecompute encr
            fireweb framer hasura loginline messerli netlify noop ondigitalocean onflashdrive platform0
            privatelink.snowflake run snowflake streamlit telebit typedream vercel web wnext
            ar: bet blogspot.com com coop edu gob gov int mil musica mutual net org senasa tur
            arpa: e164 in-addr ip6 iris uri urn
            as: gov
            asia: cloudns
            at: *.ex.futurecms *.ex.ortsinfo *.futurecms *.in.futurecms *.kunden.ortsinfo 123webseite 12hp 2ix 4lima ac
            biz blogspot.co co futurehosting futuremailing gv info lima-city myspreadshop or priv wien.funkfeuer
            au: act asn blogspot.com com conf edu gov id info mel.cloudlets.com myspreadshop.com net nsw nt org oz qld
            sa tas vic wa
            aw: com
            ax: be cat es eu gg mc us xy
            az: biz com edu gov info int mil name net org pp pro
            ba: blogspot com edu gov mil net org rs
            basketball: aus nz
            bb: biz co com edu gov info net org store tv
            bd: *
            be: *.transurl 123website ac blogspot cloud.interhostsolutions ezproxy.kuleuven myspreadshop webhosting
            bf: gov
            bg: 0 1 2 3 4 5 6 7 8 9 a b barsy blogspot c d e f g h i j k l m n o p q r s t u v w x y z
            bh: com edu gov net org
            bi: co com edu or org
            biz: activetrail cloudns dscloud dyndns for-better for-more for-some for-the jozi mmafan myftp no-ip orx
            selfip webhop
            bj: africa agro architectes assur avocats blogspot co com eco econo edu info loisirs money net org ote
            restaurant resto tourism univ
            bm: com edu gov net org
            bn: co com edu gov net org
            bo: academia agro arte blog bolivia ciencia com cooperativa democracia deporte ecologia economia edu empresa
            gob indigena industria info int medicina mil movimiento musica natural net nombre noticias org patria
            plurinacional politica profesional pueblo revista salud tecnologia tksat transporte tv web wiki
            br: *.nom 9guacu abc ac.leg adm adv agr aju al.leg am am.leg anani ap.leg aparecida app arq art ato b ba.leg
            barueri belem bhz bib bio blog blogspot.com bmd boavista bsb campinagrande campinas caxias ce.leg cim cng
            cnt com contagem coop coz cri cuiaba curitiba def des det dev df.leg ecn eco edu emp enf eng es.leg esp etc
            eti far feira flog floripa fm fnd fortal fot foz fst g12 geo ggf go.leg goiania gov gru imb ind inf jab
            jampa jdf joinville jor jus leg lel log londrina ma.leg macapa maceio manaus maringa mat med mg.leg mil
            morena mp ms.leg mt.leg mus natal net niteroi not ntr odo ong org osasco pa.leg palmas pb.leg pe.leg pi.leg
            poa ppg pr.leg pro psc psi pvh qsl radio rec recife rep ribeirao rio riobranco riopreto rj.leg rn.leg ro.leg
            rr.leg rs.leg salvador sampa santamaria santoandre saobernardo saogonca sc.leg se.leg seg simplesite.com sjc
            slg slz sorocaba sp.leg srv taxi tc tec teo the tmp to.leg trd tur tv udi users.scale.virtualcloud.com vet
            vix vlog wiki zlg
            bs: com edu gov net org we
            bt: com edu gov net org
            builders: cloudsite
            business: co
            bw: co org
            by: blogspot.com com gov mediatech mil mycloud of
            bz: com edu gov gsj net org za
            ca: *.awdev ab barsy bc blogspot co gc mb myspreadshop nb nf nl no-ip ns nt nu on pe qc sk yk
            casa: ui.nabu
            cc: cloudns csx fantasyleague ftpaccess game-server instances.spawn myphotos scrapping twmail
            cd: gov
            cf: blogspot
            ch: *.firenet *.svc.firenet 123website 12hp 2ix 4lima alp1.ae.flow appengine.flow blogspot dnsking gotdns
            lima-city linkyard-cloud myspreadshop square7
            ci: ac asso co com ed edu fin go gouv int md net nl or org presse xn--aroport-bya
            ck: !www *
            cl: blogspot co gob gov mil
            cloud: *.banzai *.magentosite *.on-rancher *.sensiosite *.statics ca.reclaim ch.trendhosting cs.keliweb
            de.trendhosting diadem elementor es-1.axarnet eu.encoway fnc.fr-par.scw fr-par-1.baremetal.scw
            fr-par-2.baremetal.scw functions.fnc.fr-par.scw it1.eur.aruba.jenv-aruba it1.jenv-aruba jele jotelulu
            k8s.fr-par.scw k8s.nl-ams.scw k8s.pl-waw.scw k8s.scw keliweb kuleuven linkyard nl-ams-1.baremetal.scw
            nodes.k8s.fr-par.scw nodes.k8s.nl-ams.scw nodes.k8s.pl-waw.scw oxa perspecta primetel priv.instances.scw
            pub.instances.scw ravendb s3-website.fr-par.scw s3-website.nl-ams.scw s3-website.pl-waw.scw s3.fr-par.scw
            s3.nl-ams.scw s3.pl-waw.scw scalebook.scw smartlabeling.scw tn.oxa trafficplex uk.oxa uk.primetel uk.reclaim
            urown us.reclaim vapor vip.jelastic voorloper whm.fr-par.scw whm.nl-ams.scw
            club: barsy cloudns jele
            cm: co com gov net
            cn: *.compute.amazonaws.com *.elb.amazonaws.com ac ah bj canva-apps cn-north-1.eb.amazonaws.com
            cn-northwest-1.eb.amazonaws.com com cq direct.quickconnect edu fj gd gov gs gx gz ha hb he hi hk hl hn
            instantcloud jl js jx ln mil mo net nm nx org qh s3.cn-north-1.amazonaws.com sc sd sh sn sx tj tw xj
            xn--55qx5d xn--io0a7i xn--od0alg xz yn zj
            co: *.otap arts blogspot.com carrd com crd edu firewalledreplit firm gov id.firewalledreplit id.repl info
            int leadpages lpages mil mypi n4t net nom org rec repl supabase web
            codes: *.owo
            com: *.0emm *.builder.code *.cns.joyent *.compute-1.amazonaws *.compute.amazonaws *.customer-oci
            *.dev-builder.code *.dev.adobeaemcloud *.devcdnaccesso *.digitaloceanspaces *.elb.amazonaws *.linodeobjects
            *.nodebalancer.linode *.oci.customer-oci *.ocp.customer-oci *.ocs.customer-oci *.paywhirl *.quipelements
            *.r.appspot *.stg-builder.code *.vultrobjects 001www 1kapp 3utilities 4u adobeaemcloud africa airkitapps
            airkitapps-au aivencloud alpha-myqnapcloud alpha.bounty-full amscompute ap-northeast-1.elasticbeanstalk
            ap-northeast-2.elasticbeanstalk ap-northeast-3.elasticbeanstalk ap-south-1.elasticbeanstalk
            ap-southeast-1.elasticbeanstalk ap-southeast-2.elasticbeanstalk api.stdlib app.lmpm app.render appchizi
            applinzi apps.fbsbx appspacehosted appspaceusercontent appspot ar authgear-staging authgearapps
            awsglobalaccelerator awsmppl balena-devices barsycenter barsyonline beta.bounty-full betainabox blogdns
            blogspot blogsyte bloxcms bounty-full boutir bplaced br builtwithdark ca-central-1.elasticbeanstalk cafjs
            canva-apps caracal.mythic-beasts cechire cf-ipfs ciscofreak clicketcloud cloud.nospamproxy cloudcontrolapp
            cloudcontrolled cloudflare-ipfs cn co codespot customer.mythic-beasts damnserver dattolocal dattorelay
            dattoweb ddns5 ddnsfree ddnsgeek ddnsking ddnslive de demo.datadetect demo.jelastic dev-myqnapcloud
            discordsays discordsez ditchyourip dnsalias dnsdojo dnsiskinky doesntexist dontexist doomdns dopaas drayddns
            dreamhosters dsmynas dyn-o-saur dynalias dyndns-at-home dyndns-at-work dyndns-blog dyndns-free dyndns-home
            dyndns-ip dyndns-mail dyndns-office dyndns-pics dyndns-remote dyndns-server dyndns-web dyndns-wiki
            dyndns-work dynns elasticbeanstalk encoreapi est-a-la-maison est-a-la-masion est-le-patron est-mon-blogueur
            eu eu-1.evennode eu-2.evennode eu-3.evennode eu-4.evennode eu-central-1.elasticbeanstalk
            eu-west-1.elasticbeanstalk eu-west-2.elasticbeanstalk eu-west-3.elasticbeanstalk eu.meteorapp
            eu.pythonanywhere familyds fastly-edge fastly-terrarium fastvps-server fentiger.mythic-beasts firebaseapp
            firewall-gateway fldrv forgeblocks framercanvas freebox-os freeboxos freemyip from-ak from-al from-ar
            from-ca from-ct from-dc from-de from-fl from-ga from-hi from-ia from-id from-il from-in from-ks from-ky
            from-ma from-md from-mi from-mn from-mo from-ms from-mt from-nc from-nd from-ne from-nh from-nj from-nm
            from-nv from-oh from-ok from-or from-pa from-pr from-ri from-sc from-sd from-tn from-tx from-ut from-va
            from-vt from-wa from-wi from-wv from-wy geekgalaxy gentapps gentlentapis getmyip giize githubusercontent
            gleeze googleapis googlecode gotdns gotpantheon gr health-carereform herokuapp herokussl hidora hk
            hobby-site homelinux homesecuritymac homesecuritypc homeunix hostedpi hotelwithflight hu iamallama impertrix
            impertrixcdn instance.datadetect ip.linodeusercontent is-a-anarchist is-a-blogger is-a-bookkeeper
            is-a-bulls-fan is-a-caterer is-a-chef is-a-conservative is-a-cpa is-a-cubicle-slave is-a-democrat
            is-a-designer is-a-doctor is-a-financialadvisor is-a-geek is-a-green is-a-guru is-a-hard-worker is-a-hunter
            is-a-landscaper is-a-lawyer is-a-liberal is-a-libertarian is-a-llama is-a-musician is-a-nascarfan is-a-nurse
            is-a-painter is-a-personaltrainer is-a-photographer is-a-player is-a-republican is-a-rockstar is-a-socialist
            is-a-student is-a-teacher is-a-techie is-a-therapist is-an-accountant is-an-actor is-an-actress
            is-an-anarchist is-an-artist is-an-engineer is-an-entertainer is-certified is-gone is-into-anime
            is-into-cars is-into-cartoons is-into-games is-leet is-not-certified is-slick is-uberleet is-with-theband
            isa-geek isa-hockeynut issmarterthanyou it jcloud-ver-jpc.ik-server jcloud.ik-server jdevcloud
            jed.wafaicloud jpn js.wpenginepowered kasserver kilatiron kozow kr ktistory likes-pie likescandy logoip
            lon.wafaicloud loseyourip lpusercontent lynx.mythic-beasts mazeplay members.linode messwithdns meteorapp mex
            miniserver myactivedirectory myasustor mydatto mydobiss mydrobo myiphost myqnapcloud mysecuritycamera
            myshopblocks myshopify myspreadshop mytabit mytuleap myvnc neat-url net-freaks nfshost no
            ocelot.mythic-beasts on-aptible oncilla.mythic-beasts onfabrica onrender onthewifi onza.mythic-beasts ooguy
            operaunite orsites outsystemscloud ownprovider paas.hosted-by-previder paas.massivegrid pagefrontapp
            pages.wiardweb pagespeedmobilizer pagexl pgfog pixolino platter-app playstation-cloud pleskns point2this
            postman-echo pro.typeform publishproxy pythonanywhere qa2 qbuser qc qualifioapp quicksytes rackmaze
            rag-cloud-ch.hosteur rag-cloud.hosteur remotewd reservd reserve-online rhcloud ru ryd.wafaicloud
            s3-ap-northeast-1.amazonaws s3-ap-northeast-2.amazonaws s3-ap-south-1.amazonaws s3-ap-southeast-1.amazonaws
            s3-ap-southeast-2.amazonaws s3-ca-central-1.amazonaws s3-eu-central-1.amazonaws s3-eu-west-1.amazonaws
            s3-eu-west-2.amazonaws s3-eu-west-3.amazonaws s3-external-1.amazonaws s3-fips-us-gov-west-1.amazonaws
            s3-sa-east-1.amazonaws s3-us-east-2.amazonaws s3-us-gov-west-1.amazonaws s3-us-west-1.amazonaws
            s3-us-west-2.amazonaws s3-website-ap-northeast-1.amazonaws s3-website-ap-southeast-1.amazonaws
            s3-website-ap-southeast-2.amazonaws s3-website-eu-west-1.amazonaws s3-website-sa-east-1.amazonaws
            s3-website-us-east-1.amazonaws s3-website-us-west-1.amazonaws s3-website-us-west-2.amazonaws
            s3-website.ap-northeast-2.amazonaws s3-website.ap-south-1.amazonaws s3-website.ca-central-1.amazonaws
            s3-website.eu-central-1.amazonaws s3-website.eu-west-2.amazonaws s3-website.eu-west-3.amazonaws
            s3-website.us-east-2.amazonaws s3.amazonaws s3.ap-northeast-2.amazonaws s3.ap-south-1.amazonaws
            s3.ca-central-1.amazonaws s3.dualstack.ap-northeast-1.amazonaws s3.dualstack.ap-northeast-2.amazonaws
            s3.dualstack.ap-south-1.amazonaws s3.dualstack.ap-southeast-1.amazonaws
            s3.dualstack.ap-southeast-2.amazonaws s3.dualstack.ca-central-1.amazonaws
            s3.dualstack.eu-central-1.amazonaws s3.dualstack.eu-west-1.amazonaws s3.dualstack.eu-west-2.amazonaws
            s3.dualstack.eu-west-3.amazonaws s3.dualstack.sa-east-1.amazonaws s3.dualstack.us-east-1.amazonaws
            s3.dualstack.us-east-2.amazonaws s3.eu-central-1.amazonaws s3.eu-west-2.amazonaws s3.eu-west-3.amazonaws
            s3.us-east-2.amazonaws sa sa-east-1.elasticbeanstalk saves-the-whales scrysec securitytactics selfip
            sells-for-less sells-for-u servebbs servebeer servecounterstrike serveexchange serveftp servegame
            servehalflife servehttp servehumour serveirc servemp3 servep2p servepics servequake servesarcasm shopitsite
            siiites simple-url simplesite sinaapp site.tb-hosting skygearapp smushcdn space-to-rent sphinx.mythic-beasts
            stackhero-network static.observableusercontent streamlitapp stufftoread teaches-yoga temp-dns theworkpc
            thingdustdata townnews-staging try-snowplow trycloudflare tuleap-partners u2-local.xnbay u2.xnbay uk
            unusualperson us us-1.evennode us-2.evennode us-3.evennode us-4.evennode us-east-1.amazonaws
            us-east-1.elasticbeanstalk us-east-2.elasticbeanstalk us-gov-west-1.elasticbeanstalk
            us-west-1.elasticbeanstalk us-west-2.elasticbeanstalk uy vfs.cloud9.af-south-1.amazonaws
            vfs.cloud9.ap-east-1.amazonaws vfs.cloud9.ap-northeast-1.amazonaws vfs.cloud9.ap-northeast-2.amazonaws
            vfs.cloud9.ap-northeast-3.amazonaws vfs.cloud9.ap-south-1.amazonaws vfs.cloud9.ap-southeast-1.amazonaws
            vfs.cloud9.ap-southeast-2.amazonaws vfs.cloud9.ca-central-1.amazonaws vfs.cloud9.eu-central-1.amazonaws
            vfs.cloud9.eu-north-1.amazonaws vfs.cloud9.eu-south-1.amazonaws vfs.cloud9.eu-west-1.amazonaws
            vfs.cloud9.eu-west-2.amazonaws vfs.cloud9.eu-west-3.amazonaws vfs.cloud9.me-south-1.amazonaws
            vfs.cloud9.sa-east-1.amazonaws vfs.cloud9.us-east-1.amazonaws vfs.cloud9.us-east-2.amazonaws
            vfs.cloud9.us-west-1.amazonaws vfs.cloud9.us-west-2.amazonaws vipsinaapp vs.mythic-beasts wafflecell
            webview-assets.cloud9.af-south-1.amazonaws webview-assets.cloud9.ap-east-1.amazonaws
            webview-assets.cloud9.ap-northeast-1.amazonaws webview-assets.cloud9.ap-northeast-2.amazonaws
            webview-assets.cloud9.ap-northeast-3.amazonaws webview-assets.cloud9.ap-south-1.amazonaws
            webview-assets.cloud9.ap-southeast-1.amazonaws webview-assets.cloud9.ap-southeast-2.amazonaws
            webview-assets.cloud9.ca-central-1.amazonaws webview-assets.cloud9.eu-central-1.amazonaws
            webview-assets.cloud9.eu-north-1.amazonaws webview-assets.cloud9.eu-south-1.amazonaws
            webview-assets.cloud9.eu-west-1.amazonaws webview-assets.cloud9.eu-west-2.amazonaws
            webview-assets.cloud9.eu-west-3.amazonaws webview-assets.cloud9.me-south-1.amazonaws
            webview-assets.cloud9.sa-east-1.amazonaws webview-assets.cloud9.us-east-1.amazonaws
            webview-assets.cloud9.us-east-2.amazonaws webview-assets.cloud9.us-west-1.amazonaws
            webview-assets.cloud9.us-west-2.amazonaws withgoogle withyoutube wixsite woltlab-demo workisboring
            wpdevcloud wpenginepowered wphostedmail wpmucdn writesthisblog x.mythic-beasts xen.prgmr xnbay
            yali.mythic-beasts yolasite za
            community: myforum nog ravendb
            cool: de elementor
            cr: ac co ed fi go or sa
            cu: com edu gov inf net org
            cv: blogspot com edu int nome org
            cw: com edu net org
            cx: ath gov info
            cy: ac biz blogspot.com com ekloges gov j.scaleforce.com ltd mil net org press pro tm
            cz: *.cloud.metacentrum blogspot co custom.metacentrum e4 flt.cloud.muni realm usr.cloud.muni
            de: *.frusky *.uberspace 123webseite 12hp 2ix 4lima barsy blogspot bplaced com community-pro
            customer.speedpartner dd-dns ddnss diskussionsbereich dnshome dnsupdater dray-dns draydns dyn-berlin
            dyn-ip24 dyn-vpn dyn.cosidns dyn.ddnss dyn.home-webserver dynamisches-dns dyndns.ddnss dyndns1 dynvpn
            firewall-gateway fuettertdasnetz git-repos goip home-webserver in-berlin in-brb in-butter in-dsl in-vpn
            internet-dns iservschule isteingeek istmein keymachine l-o-g-i-n lcube-server lebtimnetz leitungsen
            lima-city logoip mein-iserv mein-vigor my-gateway my-router my-vigor my-wan myhome-server myspreadshop
            pages.it.hs-heilbronn schulplattform schulserver spdns square7 svn-repos syno-ds synology-diskstation
            synology-ds taifun-dns test-iserv traeumtgerade virtual-user virtualuser xn--gnstigbestellen-zvb
            xn--gnstigliefern-wob
            design: bss
            dev: *.gateway *.lcl *.lclstage *.stg *.stgstage *.user.localcert *.webhare autocode curv deno deno-staging
            deta fly githubpreview iserv loginline mediatech pages platter-app r2 shiftcrypto vercel workers
            digital: cloudapps london.cloudapps
            dk: 123hjemmeside biz blogspot co firm myspreadshop reg store
            dm: com edu gov net org
            do: art com edu gob gov mil net org sld web
            dz: art asso com edu gov net org pol soc tm
            earth: *.bzz.dapps *.dapps
            ec: base com edu fin gob gov info k12 med mil net official org pro
            edu: git-pages.rit
            education: co
            ee: aip blogspot.com com edu fie gov lib med org pri riik
            eg: blogspot.com com edu eun gov mil name net org sci
            er: *
            es: 123miweb blogspot.com com edu gob myspreadshop nom org
            estate: *.compute
            et: biz com edu gov info name net org
            eu: *.transurl airkitapps barsy cloudns diskstation jelastic.dogado mycd spdns wellbeingzone
            eus: user.party
            events: co koobin
            faith: ybo
            farm: storj
            fi: 123kotisivu aland blogspot demo.datacenter dy fi.cloudplatform iki kapsi myspreadshop paas.datacenter
            xn--hkkinen-5wa
            financial: co
            fj: ac biz com gov info mil name net org pro
            fk: *
            fm: *.user com edu net org radio
            fr: 123siteweb aeroport asso avocat avoues blogspot cci chambagri chirurgiens-dentistes
            chirurgiens-dentistes-en-france com dedibox en-root experts-comptables fbx-os fbxos freebox-os freeboxos
            geometre-expert goupile gouv greta huissier-justice medecin myspreadshop nom notaires on-web pharmacien port
            prd tm veterinaire ynh
            gd: edu gov
            gdn: cnpy
            ge: com edu gov mil net org pvt
            gg: co cya daemon.panel kaas net org panel
            gh: com edu gov mil org
            gi: com edu gov ltd mod org
            gl: biz co com edu net org xx
            gn: ac com edu gov net org
            goog: *.usercontent cloud translate
            gp: app asso com edu mobi net org
            gr: blogspot com edu gov net org simplesite
            group: discourse
            gt: blog com de edu gob ind mil net org to
            gu: com edu gov guam info net org web
            gy: be co com edu gov net org
            health: hra
            hk: blogspot com edu gov idv inc ltd net org secaas xn--55qx5d xn--ciqpn xn--gmq050i xn--gmqw5a xn--io0a7i
            xn--lcvr32d xn--mk0axi xn--mxtq1m xn--od0alg xn--od0aq3b xn--tn0ag xn--uc0atv xn--uc0ay4a xn--wcvs22d
            xn--zf0avx
            hn: cc com edu gob mil net org
            host: cloudaccess easypanel fastvps freesite half jele mircloud myfast pcloud tempurl wpmudev
            hosting: opencraft
            hr: blogspot com free from iz name
            ht: adult art asso com coop edu firm gouv info med net org perso pol pro rel shop
            hu: 2000 agrar blogspot bolt casino city co erotica erotika film forum games hotel info ingatlan jogasz
            konyvelo lakas media news org priv reklam sex shop sport suli szex tm tozsde utazas video
            id: *.rss.my ac biz blogspot.co co desa flap forte go mil my net or ponpes sch web
            ie: blogspot gov myspreadshop
            il: ac blogspot.co co gov idf k12 muni mytabit.co net org ravpage.co tabitorder.co
            im: ac co com net org ro tt tv
            in: 5g 6g ac ai am barsy bihar biz blogspot business ca cloudns cn co com coop cs delhi dr edu er firm gen
            gov gujarat ind info int internet io me mil net nic org pg post pro res supabase travel tv uk up us web
            info: barrel-of-knowledge barrell-of-knowledge barsy cloudns dnsupdate dvrcam dynamic-dns dyndns for-our
            forumz groks-the groks-this here-for-more ilovecollege knowsitall mayfirst no-ip nsupdate selfip v-info
            webhop
            int: eu
            io: *.azurecontainer *.backyards.banzaicloud *.moonscale *.on-acorn *.on-k3s *.on-rio *.s5y *.stolos
            *.sys.qcx 2038 apigee app.banzaicloud apps.lair b-data backplaneapp barsy basicserver beagleboard bitbucket
            bluebite boxfuse browsersafetymark cleverapps cloud-fr1.unispace com cust.dev.thingdust
            cust.disrec.thingdust cust.prod.thingdust cust.testing.thingdust dedyn definima devices.resinstaging drud
            dyn53 dyndns.dappnode editorx edugit fh-muenster g.vbrplsbx ghost github gitlab hasura-app hostyhosting hzc
            id.forgerock jele loginline lolipop mo-siemens mock.pstmn musician ngrok nid paas.beebyte pantheonsite
            protonet pstmn qcx qoto readthedocs reservd.dev.thingdust reservd.disrec.thingdust reservd.testing.thingdust
            resindevice sandcats sekd1.beebyteapp shiftcrypto shiftedit shw spacekit stage.nodeart telebit tickets
            uk0.bigv upli utwente vaporcloud virtualserver webthings wedeploy
            iq: com edu gov mil net org
            ir: ac co gov id net org sch xn--mgba3a4f16a xn--mgba3a4fra
            is: blogspot com cupcake edu gov int net org
            it: 123homepage 16-b 32-b 64-b abr ag al an ao ap aq ar at av ba bas bg bi bl blogspot bn bo br bs bt bz ca
            cal cam cb ce ch ci cl cloud.jelastic.open.tim cn co cr cs ct cz edu emr en fc fe fg fi fm fr fvg ge go gov
            gr ibxos iliadboxos im is jc.neen kr laz lc le li lig lo lom lt lu mar mb mc me mi mn mo mol ms mt
            myspreadshop na no nu og or ot pa pc pd pe pg pi pmn pn po pr pt pu pug pv pz ra rc re rg ri rm rn ro sa sar
            si sic so sp sr ss sv syncloud ta taa te tn to tos tp tr ts tv ud umb va vao vb vc vda ve ven vi vr vs vt vv
            je: co net of org
            jm: *
            jo: com edu gov mil name net org sch
            jp: !city.kawasaki !city.kitakyushu !city.kobe !city.nagoya !city.sapporo !city.sendai !city.yokohama
            *.kawasaki *.kitakyushu *.kobe *.nagoya *.sapporo *.sendai *.yokohama ac ad aichi akita angry aomori
            babyblue babymilk backdrop bambina bitter blogspot blush boo boy boyfriend but buyshop candypop capoo
            catfood cheap chiba chicappa chillout chips chowder chu ciao co cocotte coolblog cranky cutegirl daa deca
            deci digick ed egoism ehime fakefur fashionstore fem flier floppy fool frenchkiss fukui fukuoka fukushima
            gehirn.ne gifu girlfriend girly gloomy go gonna gr greater gunma hacca handcrafted heavy her hiho hippy
            hiroshima hokkaido holy hungry hyogo ibaraki icurus ishikawa itigo iwate jellybean kagawa kagoshima kanagawa
            kawaiishop kikirara kill kilo kochi kumamoto kuron kyoto lg littlestar lolipopmc lolitapunk lomo lovepop
            lovesick main mie miyagi miyazaki mods mond mongolian moo nagano nagasaki namaste nara ne niigata nikita
            nobushi noor oita okayama okinawa oops or osaka parallel parasite pecori peewee penne pepper perma pigboat
            pinoko punyu pupu pussycat pya raindrop readymade sadist saga saitama schoolbus secret shiga shimane
            shizuoka staba stripper sub sunnyday supersale theshop thick tochigi tokushima tokyo tonkotsu tottori toyama
            under upper user.aseinet.ne usercontent velvet verse versus vivian wakayama watson weblike whitesnow
            xn--0trq7p7nn xn--1ctwo xn--1lqs03n xn--1lqs71d xn--2m4a15e xn--32vp30h xn--4it168d xn--4it797k xn--4pvxs
            xn--5js045d xn--5rtp49c xn--5rtq34k xn--6btw5a xn--6orx2r xn--7t0a264c xn--8ltr62k xn--8pvr4u xn--c3s14m
            xn--d5qv7z876c xn--djrs72d6uy xn--djty4k xn--efvn9s xn--ehqz56n xn--elqq16h xn--f6qx53a xn--k7yn95e
            xn--kbrq7o xn--klt787d xn--kltp7d xn--kltx9a xn--klty5x xn--mkru45i xn--nit225k xn--ntso0iqx3a xn--ntsq17g
            xn--pssu33l xn--qqqt11m xn--rht27z xn--rht3d xn--rht61e xn--rny31h xn--tor131o xn--uist22h xn--uisz3g
            xn--uuwu58a xn--vgu402c xn--zbx025d yamagata yamaguchi yamanashi zombie
            ke: ac blogspot.co co go info me mobi ne or sc
            kg: blog com edu gov io jp mil net org tv uk us
            kh: *
            ki: biz com edu gov info net org
            km: ass asso com coop edu gouv gov medecin mil nom notaires org pharmaciens prd presse tm veterinaire
            kn: edu gov net org
            kp: com edu gov org rep tra
            kr: ac blogspot busan chungbuk chungnam co daegu daejeon es gangwon go gwangju gyeongbuk gyeonggi gyeongnam
            hs incheon jeju jeonbuk jeonnam kg mil ms ne or pe re sc seoul ulsan
            krd: co edu
            kw: com edu emb gov ind net org
            ky: com edu net org
            kz: com edu gov jcloud mil net org upaas.kazteleport
            la: bnr c com edu gov info int net org per
            land: dev.static sites.static static
            lb: com edu gov net org
            lc: co com edu gov net org oy
            li: blogspot caa
            link: *.dweb cyon mypep
            live: hlx
            lk: ac assn com edu gov grp hotel int ltd net ngo org sch soc web
            lol: omg
            lr: com edu gov net org
            ls: ac biz co de edu gov info net org sc
            lt: blogspot gov
            lu: 123website blogspot
            lv: asn com conf edu gov id mil net org
            ly: com edu gov id med net org plc sch
            ma: ac co gov net org press
            management: router
            mc: asso tm
            md: at blogspot de jp to
            me: ac barsy brasilia c66 co daplie ddns diskstation dnsfor dscloud edgestack edu filegear filegear-au
            filegear-de filegear-gb filegear-ie filegear-jp filegear-sg glitch gov hopto i234 its localhost.daplie
            loginto lohmus mcdir mcpe myds net nohost noip org priv ravendb site.transip soundcast synology tcp4 vp4
            webhop wedeploy yombo
            media: framer
            menu: barsy
            mg: co com edu gov mil nom org prd tm
            mk: blogspot com edu gov inf name net org
            ml: com edu gouv gov net org presse
            mm: *
            mn: edu gov nyc org
            mo: com edu gov net org
            mobi: barsy dscloud
            mp: ju
            mr: blogspot gov
            ms: com edu gov lab minisite net org
            mt: blogspot.com com edu net org
            mu: ac co com gov net or org
            museum: air and art bus can ddr jfk mad nrw nyc ski spy tcm ulm usa war
            mv: aero biz com coop edu gov info int mil museum name net org pro
            mw: ac biz co com coop edu gov int museum net org
            mx: blogspot com edu gob net org
            my: biz blogspot com edu gov mil name net org
            mz: ac adv co edu gov mil net org
            na: ca cc co com dr in info mobi mx name or org pro school tv us ws
            name: forgot.her forgot.his
            nc: asso nom
            net: *.cryptonomic *.hosting.ovh *.webpaas.ovh 1.azurestaticapps 2.azurestaticapps a.prod.fastly
            a.ssl.fastly adobeaemcloud adobeio-static adobeioruntime akadns akamai akamai-staging akamaiedge
            akamaiedge-staging akamaihd akamaihd-staging akamaiorigin akamaiorigin-staging akamaized akamaized-staging
            alwaysdata appudo at-band-camp atl.jelastic.vps-host azure-mobile azurestaticapps azurewebsites b.ssl.fastly
            bar0 bar1 bar2 barsy beta.tailscale bitbridge blackbaudcdn blogdns boomla bounceme bplaced broke-it
            buyshouses casacam cdn-edges cdn.prod.atlassian-dev cdn77-ssl centralus.azurestaticapps channelsdvr
            clickrising cloudaccess cloudapp cloudfront cloudfunctions cloudjiffy cloudycluster community-pro dattolocal
            ddns debian definima dnsalias dnsdojo dnsup does-it dontexist dsmynas dynalias dynathome dynu dynv6
            eastasia.azurestaticapps eastus2.azurestaticapps eating-organic edgeapp edgekey edgekey-staging edgesuite
            edgesuite-staging endofinternet familyds fastlylb faststacks feste-ip firewall-gateway flynnhosting
            fr-1.paas.massivegrid fra1-de.cloudjiffy freetls.fastly from-az from-co from-la from-ny gb gets-it
            global.prod.fastly global.ssl.fastly ham-radio-op heteml hicam homeftp homeip homelinux homeunix hu in
            in-dsl in-the-band in-vpn iobb ipifony is-a-chef is-a-geek isa-geek j.scaleforce jelastic.saveincloud
            jelastic.tsukaeru jls-sto1.elastx jls-sto2.elastx jls-sto3.elastx jp kicks-ass kinghost knx-server krellian
            lon-1.paas.massivegrid lon-2.paas.massivegrid map.fastly map.fastlylb meinforum memset moonscale myamaze
            mydatto mydissent myeffect myfritz mymediapc mypsx mysecuritycamera myspreadshop nhlfan
            njs.jelastic.vps-host no-ip nordeste-idc.saveincloud now-dns ny-1.paas.massivegrid ny-2.paas.massivegrid
            office-on-the onavstack ownip pages.torproject pgafan podzone privatizehealthinsurance r.cdn77 rackmaze
            redirectme reserve-online ric.jelastic.vps-host ru schokokeks scrapper-site se seidat selfip sells-it
            senseering servebbs serveblog serveftp serveminecraft sg-1.paas.massivegrid shopselect siteleaf soc.srcf
            square7 static-access storage.yandexcloud supabase sytes t3l3p0rt thruhere torproject ts twmail
            u.channelsdvr uk uni5 user.srcf vpndns vps-host webhop website.yandexcloud west1-us.cloudjiffy
            westeurope.azurestaticapps westus2.azurestaticapps yandexcloud za
            network: *.alces arvo azimuth co tlon
            news: noticeable
            nf: arts com firm info net other per rec store web
            ng: blogspot.com col com edu firm gen gov i ltd mil mobi name net ngo org sch
            ni: ac biz co com edu gob in info int mil net nom org web
            nl: *.transurl 123website blogspot cistron co demon gov hosting-cluster khplay myspreadshop
            no: 123hjemmeside aa ah al blogspot bu co dep eid fet fhs fla fm gol ha hl hm hof hol lom mil mr
            myspreadshop nl nt of ol rl sel sf ski st tm tr va vf vgs vik
            np: *
            nr: biz com edu gov info net org
            nu: enterprisecloud merseine mine shacknet
            nz: ac blogspot.co co cri geek gen govt health iwi kiwi maori mil net org parliament school xn--mori-qsa
            om: co com edu gov med museum net org pro
            one: homelink onred service staging.onred
            online: barsy eero eero-stage
            orange: tech
            org: accesscam ae al.eu altervista app.os.fedoraproject app.os.stg.fedoraproject asso.eu at.eu au.eu barsy
            be.eu bg.eu blogdns blogsite bmoattachments boldlygoingnowhere c.cdn77 ca.eu cable-modem camdvr cd.eu
            certmgr ch.eu cloud.fedoraproject cloudns cn.eu collegefan couchpotatofries cy.eu cz.eu ddnss de.eu
            diskstation dk.eu dnsalias dnsdojo doesntexist dontexist doomdns dsmynas duckdns dvrdns dynalias dyndns
            dynserv edu.eu ee.eu endofinternet endoftheinternet es.eu eu familyds fedorainfracloud fedorapeople fi.eu
            fr.eu freeddns freedesktop from-me game-host go.dyndns gotdns gr.eu hepforge hk hobby-site home.dyndns
            homedns homeftp homelinux homeunix hopto hr.eu httpbin hu.eu ie.eu il.eu in-dsl in-vpn in.eu int.eu
            is-a-bruinsfan is-a-candidate is-a-celticsfan is-a-chef is-a-geek is-a-knight is-a-linux-user is-a-patsfan
            is-a-soxfan is-found is-lost is-saved is-very-bad is-very-evil is-very-good is-very-nice is-very-sweet is.eu
            isa-geek it.eu jp.eu js kicks-ass kr.eu lt.eu lu.eu lv.eu mayfirst mc.eu me.eu misconfused mk.eu mlbfan
            mozilla-iot mt.eu my-firewall my.eu myfirewall myftp mysecuritycamera mywire net.eu nflfan ng.eu nl.eu no-ip
            no.eu now-dns nz.eu paris.eu pimienta pl.eu podzone poivron potager pt.eu pubtls q-a.eu read-books
            readmyblog ro.eu rsc.cdn77 ru.eu s3.teckids se.eu selfip sellsyourhome servebbs serveftp servegame si.eu
            sk.eu small-web spdns ssl.origin.cdn77-secure stuff-4-sale sweetpepper tele.amune toolforge tr.eu tunk
            tuxfamily twmail ufcfan uk.eu us us.eu webhop webredirect wmcloud wmflabs za zapto
            ovh: nerdpol
            pa: abo ac com edu gob ing med net nom org sld
            page: codeberg hlx hlx3 magnet pdns plesk prvcy rocky translated
            party: ybo
            pe: blogspot com edu gob mil net nom org
            pf: com edu org
            pg: *
            ph: com edu gov i mil net ngo org
            photos: framer
            pictures: 1337
            pk: biz com edu fam gob gok gon gop gos gov info net org web
            pl: agro aid art atm augustow auto babia-gora bedzin beep beskidy bialowieza bialystok bielawa bieszczady
            biz boleslawiec bydgoszcz bytom cieszyn co com czeladz czest dlugoleka ecommerce-shop edu elblag elk gda
            gdansk gdynia gliwice glogow gmina gniezno gorlice gov grajewo gsm homesklep ilawa info jaworzno
            jelenia-gora jgora kalisz karpacz kartuzy kaszuby katowice kazimierz-dolny kepno ketrzyn klodzko kobierzyce
            kolobrzeg konin konskowola krakow krasnik kutno lapy lebork leczna legnica lezajsk limanowa lomza lowicz
            lubartow lubin lublin lukow mail malbork malopolska mazowsze mazury med media miasta mielec mielno mil
            mragowo myspreadshop naklo net nieruchomosci nom nowaruda nysa olawa olecko olkusz olsztyn opoczno opole org
            ostroda ostroleka ostrowiec ostrowwlkp pc pila pisz podhale podlasie polkowice pomorskie pomorze poniatowa
            powiat poznan priv prochowice pruszkow przeworsk pulawy radom rawa-maz realestate rel rybnik rzeszow sanok
            sdscloud sejny sex shop shoparena simplesite sklep skoczow slask slupsk sopot sos sosnowiec stalowa-wola
            starachowice stargard suwalki swidnica swidnik swiebodzin swinoujscie szczecin szczytno szkola targi
            tarnobrzeg tgory tm tourism travel turek turystyka tychy unicloud ustka walbrzych warmia warszawa waw wegrow
            wielun wlocl wloclawek wodzislaw wolomin wroc wroclaw zachpomor zagan zakopane zarow zgora zgorzelec
            place: co
            pm: name own
            pn: co edu gov net org
            porn: indie
            pr: ac biz com edu est gov info isla name net org pro prof
            pro: aaa aca acct avocat bar barsy bci.dnstrace cloudns cpa eng jur law med recht
            ps: com edu gov net org plo sec
            pt: 123paginaweb blogspot com edu gov int net nome org publ
            pub: barsy
            pw: belau cloudns co ed go ne or x443
            py: com coop edu gov mil net org
            qa: blogspot com edu gov mil name net org sch
            re: asso blogspot com nom
            review: ybo
            rip: clan
            ro: arts barsy blogspot co com firm info nom nt org rec shop store tm www
            rocks: lima-city myddns webspace
            rs: ac blogspot co edu gov in org ox shop.brendly ua
            ru: *.hosting.myjino *.landing.myjino *.spectrum.myjino *.vps.myjino 123sait ac adygeya bashkiria bir
            blogspot cbg com dagestan edu eurodir gov grozny hb.cldmail int jelastic.regruhosting kalmykia kustanai lk3
            marine mcdir mcpre mil mircloud mordovia msk myjino mytis na4u nalchik net nov org pp pyatigorsk ras spb
            test vladikavkaz vladimir vps.mcdir
            run: *.build *.code *.database *.migration development hs onporter ravendb repl servers
            rw: ac co coop gov mil net org
            sa: com edu gov med net org pub sch
            sb: com edu gov net org
            sc: com edu gov net org
            science: ybo
            scot: edu gov service.gov
            sd: com edu gov info med net org tv
            se: 123minsida a ac b bd blogspot brand c com conf d e f fh fhsk fhv g h i iopsys itcouldbewor k komforb
            kommunalforbund komvux l lanbib m myspreadshop n naturbruksgymn o org p parti pp press r s su.paba t tm u w
            x y z
            services: loginline
            sg: blogspot com edu enscaled gov net org per
            sh: bc.platform bip com ent.platform eu.platform gov hashbang mil net now org us.platform vxl wedeploy
            shop: barsy base hoplix
            si: blogspot gitapp gitpage
            site: *.cloudera *.platformsh *.tst barsy byen cyon fastvps fnwk folionetwork jele lelux loginline mintere
            novecore omniwe opensocial srht
            sk: blogspot
            sl: com edu gov net org
            sn: art blogspot com edu gouv org perso univ
            so: com edu gov me net org sch
            solutions: *.diher
            space: myfast uber xs4all
            ss: biz com edu gov me net org sch
            st: co com consulado edu embaixada mil net noho org principe saotome store
            store: sellfy shopware storebase
            su: abkhazia adygeya aktyubinsk arkhangelsk armenia ashgabad azerbaijan balashov bashkiria bryansk bukhara
            chimkent dagestan east-kazakhstan exnet georgia grozny ivanovo jambyl kalmykia kaluga karacol karaganda
            karelia khakassia krasnodar kurgan kustanai lenug mangyshlak mordovia msk murmansk nalchik navoi
            north-kazakhstan nov obninsk penza pokrovsk sochi spb tashkent termez togliatti troitsk tselinograd tula
            tuva vladikavkaz vladimir vologda
            support: barsy
            sv: com edu gob org red
            sx: gov
            sy: com edu gov mil net org
            systems: knightpoint
            sz: ac co org
            tc: ch me we
            td: blogspot
            team: discourse jelastic
            technology: co
            tf: sch
            th: ac co go in mi net online or shop
            tj: ac biz co com edu go gov int mil name net nic org test web
            tl: gov
            tm: co com edu gov mil net nom org
            tn: com ens fin gov ind info intl mincom nat net orangecloud org perso tourism
            to: 611 com direct.quickconnect edu gov mil net nyan org oya rdv vpnplus
            today: prequalifyme
            top: now-dns ntdll
            tr: av bbs bel biz blogspot.com com dr edu gen gov info k12 kep mil name nc net org pol tel tsk tv web
            trade: ybo
            tt: aero biz co com coop edu gov info int jobs mobi museum name net org pro travel
            tv: better-than dyndns on-the-web worse-than
            tw: blogspot club com ebiz edu game gov idv mil mymailer.com net org url xn--czrw28b xn--uc0atv xn--zf0ao64a
            tz: ac co go hotel info me mil mobi ne or sc tv
            ua: biz cc cherkassy cherkasy chernigov chernihiv chernivtsi chernovtsy ck cn co com cr crimea cv cx dn
            dnepropetrovsk dnipropetrovsk donetsk dp edu gov if in inf ivano-frankivsk kh kharkiv kharkov kherson
            khmelnitskiy khmelnytskyi kiev kirovograd km kr krym ks kv kyiv lg lt ltd lugansk lutsk lv lviv mk mykolaiv
            net nikolaev od odesa odessa org pl poltava pp rivne rovno rv sb sebastopol sevastopol sm sumy te ternopil
            uz uzhgorod v vinnica vinnytsia vn volyn yalta zaporizhzhe zaporizhzhia zhitomir zhytomyr zp zt
            ug: ac blogspot co com go ne or org sc
            uk: *.sch ac adimo.co affinitylottery.org api.gov barsy barsy.co barsyonline.co blogspot.co campaign.gov co
            conn copro cust.retrosnub.co dh.bytemark.co glug.org gov homeoffice.gov hosp independent-commission
            independent-inquest independent-inquiry independent-panel independent-review j.layershift.co ltd lug.org
            lugs.org me myspreadshop.co net nh-serv.co nhs no-ip.co org plc police public-inquiry pymnt raffleentry.org
            royal-commission service.gov vm.bytemark.co weeklylottery.org wellbeingzone.co
            us: ak al ar as az ca cloudns co ct dc de dni drud fed fl freeddns ga golffan graphox gu hi ia id il in
            is-by isa kids ks ky la land-4-sale lib.de ma md me mi mircloud mn mo ms mt nc nd ne nh nj nm noip nsn nv ny
            oh ok or pa phx.enscaled platterp pointto pr ri sc sd stuff-4-sale tn tx ut va vi vt wa wi wv wy
            uy: blogspot.com com edu gub mil net org
            uz: co com net org
            vc: 0e com d.gv edu gov gv mil net org
            ve: arts bib co com e12 edu firm gob gov info int mil net nom org rar rec store tec web
            vg: at
            vi: co com k12 net org
            vn: ac biz blogspot com edu gov health info int name net org pro
            vu: blog cn com dev edu me net org
            website: framer
            wf: biz sch
            wiki: framer
            ws: *.advisor cloud66 com dyndns edu gov mypets net org
            xn--4dbrk0ce: xn--4dbgdty6c xn--5dbhl8d xn--8dbq2a xn--hebda8b
            xn--90a3ac: xn--80au xn--90azh xn--c1avg xn--d1at xn--o1ac xn--o1ach
            xn--j6w193g: xn--55qx5d xn--gmqw5a xn--mxtq1m xn--od0alg xn--uc0atv xn--wcvs22d
            xn--o3cw4h: xn--12c1fe0br xn--12cfi8ixb8l xn--12co0c3b4eva xn--h3cuzk1di xn--m3ch0j3a xn--o3cyx2a
            xn--p1acf: xn--41a xn--80aaa0cvac xn--90a1af xn--90amc xn--c1avg xn--h1ahn xn--h1aliz xn--j1adp xn--j1aef
            xn--j1ael8b
            xyz: *.telebit blogsite crafting localzone zapto
            ye: com edu gov mil net org
            yt: org
            za: ac agric alt blogspot.co co edu gov grondar law mil net ngo nic nis nom org school tm web
            zm: ac biz co com edu gov info mil net org sch
            zone: *.triton cloud66 hs lima
            zw: ac co gov mil org
            """)
}
