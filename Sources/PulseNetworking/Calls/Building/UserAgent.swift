// SPDX-License-Identifier: MIT

import PulseCore

/// The default `User-Agent`: `App/1.0 PulseKit/0.1.0 (iOS 17.4.0)`. On Linux the executable's name replaces the app's.
enum UserAgent {
    static let version = PulseVersion.current

    static let standard: String = {
        let info = Bundle.main.infoDictionary
        let name = info?["CFBundleName"] as? String ?? ProcessInfo.processInfo.processName
        let app = (info?["CFBundleShortVersionString"] as? String).map { "\(token(name))/\(token($0))" } ?? token(name)
        let system = ProcessInfo.processInfo.operatingSystemVersion
        let numbers = "\(system.majorVersion).\(system.minorVersion).\(system.patchVersion)"
        return "\(app) PulseKit/\(version) (\(platform) \(numbers))"
    }()

    private static func token(_ text: String) -> String {
        let bytes = text.utf8.map { $0.isHTTPTokenCharacter ? $0 : UInt8(ascii: "-") }
        return bytes.isEmpty ? "App" : String(decoding: bytes, as: UTF8.self)
    }

    private static var platform: String {
        #if canImport(Darwin)
        name(ofSDKPlatform: Bundle.main.infoDictionary?["DTPlatformName"] as? String)
        #else
        "Linux"
        #endif
    }

    /// The platform that a bundle was built for, from its Info.plist; macOS for an executable without one.
    static func name(ofSDKPlatform platform: String?) -> String {
        switch platform {
        case "iphoneos", "iphonesimulator": "iOS"
        case "appletvos", "appletvsimulator": "tvOS"
        case "watchos", "watchsimulator": "watchOS"
        case "xros", "xrsimulator": "visionOS"
        default: "macOS"
        }
    }
}
